// SPDX-License-Identifier: Apache-2.0
#include "knowledge/signatures.h"

#include <algorithm>
#include <iterator>
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

const std::map<std::string, Likelihood>& likelihoods() {
  static const std::map<std::string, Likelihood> words = {
      {"certain", Likelihood::certain},
      {"likely", Likelihood::likely},
      {"possible", Likelihood::possible},
      {"conceivable", Likelihood::conceivable},
  };
  return words;
}

// A message without a likeliest cause would be a signature.
void read_causes(TableReader& row, std::vector<MessageCause>& causes) {
  std::map<std::string, std::string> told;
  row.read("causes", told);
  for (const auto& [id, word] : told) {
    const auto known = likelihoods().find(word);
    if (known == likelihoods().end()) {
      return row.wrong("causes", "certain, likely, possible or conceivable behind each cause");
    }
    causes.push_back({id, known->second});
  }
  std::stable_sort(causes.begin(), causes.end(), [](const MessageCause& a, const MessageCause& b) {
    return a.likelihood < b.likelihood;
  });
  const auto above = [&](std::size_t place) {
    return causes.size() > place && causes[place].likelihood < Likelihood::conceivable;
  };
  if (!above(0) || above(1)) row.wrong("causes", "one cause that is the likeliest");
}

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

Signature read_message(TableReader& row) {
  Signature message;
  message.id = row.text("id");
  message.match = row.text("match");
  if (row.has("role")) message.role = row.word("role", roles());
  row.read("says", message.says);
  read_causes(row, message.causes);
  message.origin = read_origin(row);
  row.refuse_unknown();
  return message;
}

Result<SignatureTable> parse_rows(std::string_view text, const std::string& file,
                                  std::string_view key, Signature (*read)(TableReader&)) {
  HEADROOM_TRY(const Document document, parse_toml(text));
  DocumentReader reader(document, {.file = file});
  TableReader table = reader.root();
  SignatureTable signatures;
  std::set<std::string> ids;
  for (TableReader& row : table.rows(key)) {
    signatures.rows.push_back(read(row));
    if (!ids.insert(signatures.rows.back().id).second) {
      row.wrong("id", "an id that no other row has");
    }
  }
  table.refuse_unknown();
  HEADROOM_CHECK(reader.finish());
  return signatures;
}

}  // namespace

Result<SignatureTable> load_signatures() {
  HEADROOM_TRY(SignatureTable all, parse_signatures(embedded("signatures")));
  HEADROOM_TRY(SignatureTable messages, parse_messages(embedded("messages")));
  std::move(messages.rows.begin(), messages.rows.end(), std::back_inserter(all.rows));
  return all;
}

Result<SignatureTable> parse_signatures(std::string_view text) {
  return parse_rows(text, "data/signatures.toml", "signature", read_row);
}

Result<SignatureTable> parse_messages(std::string_view text) {
  return parse_rows(text, "data/messages.toml", "message", read_message);
}

std::string_view to_string(Role role) {
  for (const auto& [word, value] : roles()) {
    if (value == role) return word;
  }
  return "failure";
}

}  // namespace headroom::knowledge
