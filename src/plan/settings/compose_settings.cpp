// SPDX-License-Identifier: Apache-2.0
// Settings in compose files (compose-spec, "environment"): the list and the map below
// "environment:", block and flow style, in services and in the fragments that they share ("x-…").
// Reads as much of YAML as that takes; a flow collection over several lines is left to a person.
#include "base/text.h"
#include "facts/shell_words.h"
#include "plan/settings/setting_lines.h"

namespace headroom::plan {
namespace {

using facts::Form;

struct Scalar {
  std::size_t begin = 0, end = 0;            // With its quotes.
  std::size_t text_begin = 0, text_end = 0;  // Without.
};

class Finder {
 public:
  explicit Finder(std::string_view text) : text_(text) {}

  SettingLines run() {
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t next = std::min(text_.find('\n', at), text_.size());
      begin_ = at;
      end_ = next > at && text_[next - 1] == '\r' ? next - 1 : next;
      ++number_;
      read_line();
      at = next + 1;
    }
    return std::move(found_);
  }

 private:
  // ---- lines ----

  void read_line() {
    const std::size_t first = skip_blanks(begin_);
    if (first >= end_ || text_[first] == '#') return;
    const std::size_t indent = first - begin_;
    if (literal_ && indent > *literal_) return;  // A string over several lines.
    literal_.reset();
    const bool item = text_[first] == '-' && (first + 1 == end_ || text_[first + 1] == ' ');
    if (block_ && (indent < block_indent_ || (indent == block_indent_ && !item))) block_.reset();
    if (block_) {
      read_entry(item ? skip_blanks(first + 1) : first, item);
    } else {
      read_key(first, indent);
    }
    const std::string_view line = trim(text_.substr(first, end_ - first));
    const std::size_t mark = line.find_last_of("|>");
    const bool starts_literal = mark != std::string_view::npos && mark + 3 > line.size() &&
                                mark > 1 && line[mark - 1] == ' ';
    if (starts_literal) literal_ = indent;
  }

  // "environment:", with an anchor, a comment or a flow collection behind it.
  void read_key(std::size_t first, std::size_t indent) {
    constexpr std::string_view key = "environment:";
    const std::string_view line = text_.substr(first, end_ - first);
    const bool shared = line.starts_with("x-");
    std::size_t after = first + key.size();
    if (shared) {
      const std::size_t colon = line.find(':');
      if (colon == std::string_view::npos || line.substr(0, colon).find("env") == line.npos) return;
      after = first + colon + 1;
    } else if (!line.starts_with(key)) {
      return;
    }
    std::size_t at = skip_blanks(after);
    if (at < end_ && text_[at] == '&') {
      at = skip_blanks(std::min(text_.find_first_of(" \t\r\n", at), end_));
    }
    if (at < end_ && (text_[at] == '[' || text_[at] == '{')) {
      read_flow(at, text_[at] == '[');
      return;
    }
    if (at < end_ && text_[at] != '#') return;
    block_ = found_.blocks.size();
    block_indent_ = indent;
    std::size_t insert = at;
    while (insert > after && (text_[insert - 1] == ' ' || text_[insert - 1] == '\t')) --insert;
    found_.blocks.push_back({0, {insert, insert, " {}"}});
  }

  void read_entry(std::size_t at, bool item) {
    SettingBlock& block = found_.blocks[*block_];
    if (block.members == 0 && item) block.when_empty.with = " []";
    ++block.members;
    const std::size_t places = found_.places.size();
    const std::size_t end = end_of_plain(at, "");
    if (item) {
      add_item(scalar_at(at, ""));
    } else {
      add_pair(at, end, "");
    }
    if (found_.places.size() == places) return;
    SettingStatement statement;
    statement.line_begin = begin_;
    statement.members = 1;
    statement.shows_itself = true;
    const std::size_t first = skip_blanks(begin_);
    statement.when_empty = {
        first, end_,
        std::string(taken_out_mark()) + ": " + std::string(text_.substr(first, end_ - first))};
    found_.places.back().statement = found_.statements.size();
    found_.places.back().block = *block_;
    found_.statements.push_back(std::move(statement));
  }

  // [ "A=B", C=D ] and { A: B, C: D }, on one line.
  void read_flow(std::size_t open, bool list) {
    SettingLines before = found_;
    const std::size_t statement = found_.statements.size();
    found_.statements.push_back({begin_, 0, {}, false});
    std::vector<Cut> elements;
    std::vector<std::size_t> owners;  // Of each place, its element.
    std::size_t at = skip_blanks(open + 1);
    while (at < end_ && text_[at] != (list ? ']' : '}')) {
      const std::size_t places = found_.places.size();
      const std::size_t end = list ? scalar_at(at, ",]").end : end_of_pair(at);
      if (list) add_item(scalar_at(at, ",]"));
      if (!list) add_pair(at, end, ",}");
      if (found_.places.size() > places) owners.push_back(elements.size());
      elements.push_back({at, end, ""});
      at = skip_blanks(end);
      if (at < end_ && text_[at] == ',') at = skip_blanks(at + 1);
      if (at == elements.back().begin) break;
    }
    if (at >= end_ || text_[at] != (list ? ']' : '}')) {
      found_ = std::move(before);  // It goes on below.
      return;
    }
    for (std::size_t i = 0; i < owners.size(); ++i) {
      SettingPlace& place = found_.places[before.places.size() + i];
      const std::size_t element = owners[i];
      const bool is_last = element + 1 == elements.size();
      place.statement = statement;
      place.cut = {elements[element].begin,
                   is_last ? elements[element].end : elements[element + 1].begin, ""};
      if (is_last && element > 0) place.cut.begin = elements[element - 1].end;
    }
    SettingStatement& made = found_.statements[statement];
    made.members = elements.size();
    made.when_empty = {open, at + 1, list ? "[]" : "{}"};
  }

  // ---- scalars ----

  std::size_t skip_blanks(std::size_t at) const {
    while (at < end_ && (text_[at] == ' ' || text_[at] == '\t')) ++at;
    return at;
  }

  // Up to a comment or one of `stops`, without blanks at the end.
  std::size_t end_of_plain(std::size_t at, std::string_view stops) const {
    std::size_t end = at;
    while (end < end_ && stops.find(text_[end]) == std::string_view::npos) {
      if (text_[end] == '#' && end > at && text_[end - 1] == ' ') break;
      ++end;
    }
    while (end > at && (text_[end - 1] == ' ' || text_[end - 1] == '\t')) --end;
    return end;
  }

  Scalar scalar_at(std::size_t at, std::string_view stops) const {
    if (at < end_ && (text_[at] == '"' || text_[at] == '\'')) {
      std::size_t close = at + 1;
      while (close < end_ && text_[close] != text_[at]) {
        close += text_[close] == '\\' && text_[at] == '"' ? 2 : 1;
      }
      if (close < end_) return {at, close + 1, at + 1, close};
      return {at, end_, at + 1, end_};
    }
    const std::size_t end = end_of_plain(at, stops);
    return {at, end, at, end};
  }

  std::size_t end_of_pair(std::size_t at) const {
    const Scalar key = scalar_at(at, ":,}");
    const std::size_t colon = skip_blanks(key.end);
    if (colon >= end_ || text_[colon] != ':') return key.end;
    return scalar_at(skip_blanks(colon + 1), ",}").end;
  }

  // "NAME=VALUE"
  void add_item(const Scalar& scalar) {
    const std::string_view part =
        text_.substr(scalar.text_begin, scalar.text_end - scalar.text_begin);
    const std::size_t length = facts::assigned_name_length(part);
    if (length == 0) return;
    add(part.substr(0, length), part.substr(length + 1), scalar.text_begin);
    found_.places.back().form = Form::compose_list;
  }

  // NAME: VALUE, up to `end`.
  void add_pair(std::size_t at, std::size_t end, std::string_view stops) {
    const Scalar key = scalar_at(at, std::string(":") + std::string(stops));
    const std::size_t colon = skip_blanks(key.end);
    if (colon >= end || text_[colon] != ':') return;
    const std::string name(text_.substr(key.text_begin, key.text_end - key.text_begin));
    if (facts::assigned_name_length(name + "=") == 0) return;
    const Scalar value = scalar_at(skip_blanks(colon + 1), stops);
    add(name, text_.substr(value.text_begin, value.text_end - value.text_begin), key.text_begin);
    found_.places.back().form = Form::compose;
  }

  void add(std::string_view name, std::string_view value, std::size_t at) {
    SettingPlace place;
    place.name = std::string(name);
    place.value = std::string(value);
    place.line = number_;
    place.name_begin = at;
    found_.places.push_back(std::move(place));
  }

  std::string_view text_;
  SettingLines found_;
  std::size_t begin_ = 0, end_ = 0;  // Of the line.
  int number_ = 0;
  std::optional<std::size_t> block_;
  std::size_t block_indent_ = 0;
  std::optional<std::size_t> literal_;  // The indent of the line that began a block scalar.
};

}  // namespace

SettingLines find_in_compose(std::string_view text) {
  return Finder(text).run();
}

}  // namespace headroom::plan
