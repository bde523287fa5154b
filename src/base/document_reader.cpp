// SPDX-License-Identifier: Apache-2.0
#include "base/document_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/document.h"
#include "base/json_text.h"
#include "base/text.h"

namespace headroom {
namespace {

constexpr std::size_t shown_max = 60;  // Of a wrong value, that much is shown.

std::string_view name_of_table(Spelling spelling) {
  return spelling == Spelling::toml ? "a table" : "an object";
}

// A value near enough to how it was written to recognise it, and never longer than a line.
std::string to_line(const Json& value) {
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());  // nan and inf too.
  std::string text = to_json_text(value);
  if (text.size() <= shown_max) return text;
  std::size_t end = shown_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;  // UTF-8.
  return text.substr(0, end) + "…";
}

}  // namespace

// ---- the document ----

DocumentReader::DocumentReader(const Document& document, DocumentWords words)
    : value_(document.value), lines_(&document), words_(std::move(words)) {}

DocumentReader::DocumentReader(const Json& value, DocumentWords words)
    : value_(value), words_(std::move(words)) {}

TableReader DocumentReader::root() {
  TableReader reader(*this, nullptr, {}, "");
  return reader.inner(&value_, {}, "");
}

void DocumentReader::fail(Error error) {
  if (!problem_) problem_ = std::move(error);
}

Status DocumentReader::finish() const {
  if (problem_) return *problem_;
  return Done{};
}

// ---- places and errors ----

TableReader::TableReader(DocumentReader& reader, const Json* table, Place place, std::string name)
    : reader_(&reader), table_(table), place_(std::move(place)), name_(std::move(name)) {}

TableReader::Place TableReader::place_of(std::string_view key) const {
  if (key.empty()) return place_;
  const bool dotted = reader_->words_.spelling == Spelling::toml;
  const char* between = dotted && place_.path.empty() ? "" : dotted ? "." : "/";
  return {fmt::format("{}/{}", place_.pointer, key),
          fmt::format("{}{}{}", place_.path, between, key)};
}

TableReader::Place TableReader::place_of(const Place& list, std::size_t index) const {
  const bool dotted = reader_->words_.spelling == Spelling::toml;
  return {fmt::format("{}/{}", list.pointer, index), dotted
                                                         ? fmt::format("{}[{}]", list.path, index)
                                                         : fmt::format("{}/{}", list.path, index)};
}

std::string TableReader::found_at(const Json* value) const {
  if (value == nullptr) return "nothing";
  if (value->is_object()) return std::string(name_of_table(reader_->words_.spelling));
  return to_line(*value);
}

void TableReader::fail_at(const Place& place, const Json* found, Error error) {
  if (reader_->failed()) return;
  const DocumentWords& words = reader_->words_;
  std::string line;
  if (reader_->lines_ != nullptr) {
    line = reader_->lines_->place(place.pointer);
    // What is not there stands on no line; the table that lacks it does.
    const bool lacks = found == nullptr && table_ != nullptr && !place_.pointer.empty();
    if (lacks) line = reader_->lines_->place(place_.pointer);
  }
  const std::string file = words.file.empty() ? "" : words.file + ": ";
  error.message =
      file + line + (place.path.empty() ? words.root : place.path) + ": " + error.message;
  if (file.empty() && line.empty()) error.key = place.path;
  reader_->fail(std::move(error));
}

void TableReader::fail(std::string_view key, Errc code, const std::string& message,
                       const std::string& next) {
  fail_at(place_of(key), key.empty() ? table_ : find(key), {code, message, next});
}

void TableReader::wrong(std::string_view key, std::string_view expected) {
  const Json* value = key.empty() ? table_ : find(key);
  fail(key, Errc::invalid, fmt::format("expected {}, found {}", expected, found_at(value)),
       reader_->words_.next);
}

void TableReader::refuse(std::string_view key, const Wanted& wanted) {
  const Json* value = find(key);
  const std::string& next = reader_->words_.next;
  const std::string example = fmt::format("write for instance {} = {}", key, wanted.example);
  const std::string leave_out =
      wanted.need == Need::optional ? fmt::format(", or leave {} out", key) : "";
  fail(key, Errc::invalid, fmt::format("expected {}, found {}", wanted.what, found_at(value)),
       next.empty() ? example + leave_out : next);
}

void TableReader::refuse_unknown() {
  if (table_ == nullptr) return;
  for (const auto& [key, value] : table_->items()) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    const auto meant = nearest(key, known_);
    fail(key, Errc::invalid, fmt::format("unknown key; known here: {}", join(known_, ", ")),
         meant ? fmt::format("did you mean {}?", *meant) : fmt::format("remove {}", key));
    return;
  }
}

const Json* TableReader::find(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  if (table_ == nullptr) return nullptr;
  const auto found = table_->find(key);
  return found == table_->end() ? nullptr : &*found;
}

bool TableReader::has(std::string_view key) const {
  if (table_ == nullptr) return false;
  const auto found = table_->find(key);
  return found != table_->end() && !found->is_null();
}

// ---- tables inside of this one ----

TableReader TableReader::inner(const Json* value, Place place, std::string name) {
  const bool is_table = value != nullptr && value->is_object();
  const DocumentWords& words = reader_->words_;
  if (!is_table) {
    const std::string& advice = words.next;
    fail_at(
        place, value,
        {Errc::invalid,
         fmt::format("expected {}, found {}", name_of_table(words.spelling), found_at(value)),
         advice.empty() ? "write it as a [table] followed by lines such as key = value" : advice});
  }
  return {*reader_, is_table ? value : nullptr, std::move(place), std::move(name)};
}

TableReader TableReader::table(std::string_view key) {
  return inner(find(key), place_of(key), std::string(key));
}

TableReader TableReader::optional_table(std::string_view key) {
  if (find(key) != nullptr) return table(key);
  return {*reader_, nullptr, place_of(key), std::string(key)};
}

std::vector<TableReader> TableReader::tables(std::string_view key) {
  const Json* value = find(key);
  if (value != nullptr && value->is_array()) return rows(key);
  wrong(key, fmt::format("a list, each of it {}", name_of_table(reader_->words_.spelling)));
  return {};
}

std::vector<TableReader> TableReader::rows(std::string_view key) {
  std::vector<TableReader> readers;
  const Json* value = find(key);
  if (value == nullptr) return readers;
  if (value->is_object()) {
    TableReader table = inner(value, place_of(key), std::string(key));
    for (const auto& [name, row] : value->items())
      readers.push_back(inner(&row, table.place_of(name), name));
  } else if (value->is_array()) {
    const Place list = place_of(key);
    for (const Json& row : *value) {
      const std::size_t index = readers.size();
      readers.push_back(inner(&row, place_of(list, index), std::to_string(index)));
    }
  } else {
    wrong(key, "a list or a table of rows");
  }
  return readers;
}

const Json& TableReader::any_table(std::string_view key) {
  static const Json none = Json::object();
  const Json* value = find(key);
  if (value == nullptr) return none;
  if (value->is_object()) return *value;
  wrong(key, name_of_table(reader_->words_.spelling));
  return none;
}

const Json& TableReader::any_array(std::string_view key) {
  static const Json none = Json::array();
  const Json* value = find(key);
  if (value == nullptr) return none;
  if (value->is_array()) return *value;
  wrong(key, "an array");
  return none;
}

}  // namespace headroom
