// SPDX-License-Identifier: Apache-2.0
#include "knowledge/signatures.h"

#include <map>
#include <set>

#include "base/document.h"
#include "knowledge/embedded.h"
#include "knowledge/table_reader.h"

namespace headroom::knowledge {
namespace {

const TableReader::Words<Role>& roles() {
  static const TableReader::Words<Role> words = {
      {"failure", Role::failure}, {"consequence", Role::consequence},
      {"hint", Role::hint},       {"noise", Role::noise},
      {"fact", Role::fact},       {"progress", Role::progress},
      {"command", Role::command},
  };
  return words;
}

Result<Signature> parse_row(TableReader& row) {
  Signature signature;
  HEADROOM_TRY(signature.id, row.text("id"));
  HEADROOM_TRY(signature.match, row.text("match"));
  HEADROOM_TRY(signature.role, row.word("role", roles()));
  HEADROOM_TRY(signature.says, row.text_or("says", ""));
  if (row.has("output")) {
    HEADROOM_TRY(signature.output, row.number("output"));
    if (signature.output < 1 || signature.output > 20) return row.wrong("output", "1 to 20 lines");
  }
  HEADROOM_TRY(signature.origin, parse_origin(row));
  HEADROOM_CHECK(row.finish());
  return signature;
}

}  // namespace

Result<SignatureTable> load_signatures() {
  return parse_signatures(embedded("signatures"));
}

Result<SignatureTable> parse_signatures(std::string_view text) {
  HEADROOM_TRY(const Document document, parse_toml(text));
  TableReader table(document, "");
  SignatureTable signatures;
  std::set<std::string> ids;
  for (const std::string& place : table.rows("signature")) {
    TableReader row(document, place);
    HEADROOM_TRY(Signature signature, parse_row(row));
    if (!ids.insert(signature.id).second) return row.wrong("id", "an id that no other row has");
    signatures.rows.push_back(std::move(signature));
  }
  HEADROOM_CHECK(table.finish());
  return signatures;
}

std::string_view to_string(Role role) {
  for (const auto& [word, value] : roles()) {
    if (value == role) return word;
  }
  return "failure";
}

}  // namespace headroom::knowledge
