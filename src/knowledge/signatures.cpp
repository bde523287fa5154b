// SPDX-License-Identifier: Apache-2.0
#include "knowledge/signatures.h"

#include <map>
#include <set>

#include "base/document.h"
#include "base/document_reader.h"
#include "knowledge/embedded.h"

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

constexpr Range output_lines = {1, 20};

Signature read_row(TableReader& row) {
  Signature signature;
  signature.id = row.text("id");
  signature.match = row.text("match");
  signature.role = row.word("role", roles());
  row.read("says", signature.says);
  if (row.has("output")) signature.output = static_cast<int>(row.number("output", output_lines));
  signature.origin = read_origin(row);
  row.refuse_unknown();
  return signature;
}

}  // namespace

Result<SignatureTable> load_signatures() {
  return parse_signatures(embedded("signatures"));
}

Result<SignatureTable> parse_signatures(std::string_view text) {
  HEADROOM_TRY(const Document document, parse_toml(text));
  DocumentReader reader(document, {.file = "data/signatures.toml"});
  TableReader table = reader.root();
  SignatureTable signatures;
  std::set<std::string> ids;
  for (TableReader& row : table.rows("signature")) {
    signatures.rows.push_back(read_row(row));
    if (!ids.insert(signatures.rows.back().id).second) {
      row.wrong("id", "an id that no other row has");
    }
  }
  table.refuse_unknown();
  HEADROOM_CHECK(reader.finish());
  return signatures;
}

std::string_view to_string(Role role) {
  for (const auto& [word, value] : roles()) {
    if (value == role) return word;
  }
  return "failure";
}

}  // namespace headroom::knowledge
