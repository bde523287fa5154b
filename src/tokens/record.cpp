// SPDX-License-Identifier: Apache-2.0
#include "tokens/record.h"

#include <fmt/format.h>

#include "base/document.h"
#include "base/document_reader.h"
#include "base/printable.h"
#include "base/text.h"

namespace headroom::tokens {
namespace {

constexpr const char* forms =
    R"(write lines such as {"text": "…"}, {"messages": [{"role": "user", "content": "…"}, )"
    R"({"role": "assistant", "content": "…"}]} or {"prompt": "…", "completion": "…"})";

void add_messages(TableReader& table, std::string_view key, bool learned, Record& record) {
  const TableReader::Words<Role> roles = {
      {"system", Role::system}, {"user", Role::user}, {"assistant", Role::assistant}};
  for (TableReader& row : table.tables(key)) {
    Message message;
    message.role = row.word("role", roles);
    message.content = row.text("content");
    message.learned = learned && message.role == Role::assistant;
    record.messages.push_back(std::move(message));
  }
}

void read_pair(TableReader& table, Record& record) {
  const Json* prompt = table.find("prompt");
  if (prompt != nullptr && prompt->is_array()) {
    record.kind = Record::Kind::conversation;
    add_messages(table, "prompt", false, record);
    add_messages(table, "completion", true, record);
    return;
  }
  record.kind = Record::Kind::completion;
  record.text = table.text("prompt");
  record.completion = table.text("completion");
}

std::string list_keys(const Json& object) {
  constexpr std::size_t enough = 8;
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) {
    if (keys.size() == enough) {
      keys.emplace_back("…");
      break;
    }
    keys.push_back("\"" + printable(std::string_view(key).substr(0, 40)) + "\"");
  }
  return keys.empty() ? "none" : join(keys, ", ");
}

}  // namespace

Result<Record> parse_record(std::string_view line) {
  HEADROOM_TRY(const Json value, parse_json(line));
  if (!value.is_object())
    return Error{Errc::invalid, "expected an object on each line, found other JSON", forms};
  DocumentReader reader(value, {.spelling = Spelling::json, .root = "the line", .next = forms});
  TableReader table = reader.root();
  Record record;
  if (table.has("messages")) {
    record.kind = Record::Kind::conversation;
    add_messages(table, "messages", true, record);
  } else if (table.has("prompt") || table.has("completion")) {
    read_pair(table, record);
  } else if (table.has("text")) {
    record.text = table.text("text");
  } else {
    return Error{Errc::invalid,
                 fmt::format("expected \"text\", \"messages\", or \"prompt\" and \"completion\", "
                             "found {}",
                             list_keys(value)),
                 forms};
  }
  HEADROOM_CHECK(reader.finish());
  return record;
}

}  // namespace headroom::tokens
