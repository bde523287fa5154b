// SPDX-License-Identifier: Apache-2.0
#include "logs/fold_line.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

namespace headroom::logs {
namespace {

constexpr std::string_view blanks = " \t";

// What marks a line as quoted, numbered or framed; '\0' if nothing does.
char mark_of(std::string_view text) {
  static const RE2 marks(
      "^(?:\\s{0,3}(>)|\\s{0,8}\\d{1,6} ?(\\|)|\\d{1,6}(:) |(L)\\d{1,6} "
      "|\\s*\\d{1,6}(\t)|\\s*(\xE2)\x94)",
      RE2::Latin1);
  std::array<re2::StringPiece, 7> groups;
  if (!marks.Match({text.data(), text.size()}, 0, text.size(), RE2::ANCHOR_START, groups.data(),
                   7)) {
    return '\0';
  }
  const auto found = std::find_if(groups.begin() + 1, groups.end(),
                                  [](const re2::StringPiece& group) { return !group.empty(); });
  return found == groups.end() ? '\0' : (*found)[0];
}

std::string_view without_blanks(std::string_view text) {
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

}  // namespace

std::size_t indent_of(std::string_view text) {
  return std::min(text.find_first_not_of(blanks), text.size());
}

std::size_t first_word_of(std::string_view text) {
  text.remove_prefix(indent_of(text));
  return columns_of(text.substr(0, text.find_first_of(blanks)));
}

std::size_t last_word_of(std::string_view text) {
  const std::size_t blank = text.find_last_of(blanks);
  return columns_of(blank == std::string_view::npos ? text : text.substr(blank + 1));
}

bool has_one_word(std::string_view text) {
  text.remove_prefix(indent_of(text));
  const std::size_t blank = text.find_first_of(blanks);
  return blank == std::string_view::npos ||
         text.find_first_not_of(blanks, blank) == std::string_view::npos;
}

FoldLine::FoldLine(const PastedLine& line)
    : text_(line.text),
      prefixes_(find_prefixes(line.text)),
      is_blank_(logs::is_blank(line.text)),
      is_apart_(line.is_apart) {
  // Blanks behind a prefix may be a hanging indent.
  for (Prefix& prefix : prefixes_) {
    while (prefix.end > 1 && text_.substr(prefix.end - 2, 2) == "  ") --prefix.end;
  }
}

std::string_view FoldLine::body(std::size_t depth) const {
  depth = std::min(depth, prefixes_.size());
  return depth == 0 ? text_ : text_.substr(prefixes_[depth - 1].end);
}

bool FoldLine::is_typed() const {
  static const RE2 prompt(
      R"(^(?:(?:> ?)+|\s{0,8}\d{1,6}(?::|\t| ?\|) ?)?)"
      R"((?:[$#] |>>>|\(\w[\w.-]*\) ?(?:[$#] |[\w.-]+@)|\[?[\w.-]+@[\w.-]+[:~ ][^$#]{0,60}[$#](?: |$)|PS [A-Z]:))");
  const std::string_view rest = body(depth());
  return RE2::PartialMatch(re2::StringPiece(rest.data(), rest.size()), prompt);
}

bool FoldLine::begins_anew() const {
  static const RE2 beginnings(
      R"(^(?:Traceback \(most recent|\s{1,8}File "|During handling of|The above exception|-- Boot|)"
      R"((?:\w+\.)*[A-Z]\w*(?:Error|Exception): |\[\w+\]: |[=*-]{5,}))");
  const std::string_view rest = body(depth());
  if (is_apart_ || is_blank_ || logs::is_blank(rest)) return true;
  return is_typed() || RE2::PartialMatch(re2::StringPiece(rest.data(), rest.size()), beginnings);
}

std::size_t FoldLine::common_depth(const FoldLine& other) const {
  const auto is_alike = [](const Prefix& a, const Prefix& b) {
    return a.form == b.form && a.origin == b.origin;
  };
  const auto [here, there] = std::mismatch(
      prefixes_.begin(), prefixes_.end(), other.prefixes_.begin(), other.prefixes_.end(), is_alike);
  return static_cast<std::size_t>(here - prefixes_.begin());
}

bool FoldLine::ends_row_of(const FoldLine& before) const {
  return before.text_.starts_with('|') && !before.text_.ends_with('|') && text_.ends_with('|') &&
         !text_.starts_with('|');
}

bool FoldLine::has_own_beginning(const FoldLine& before, std::size_t depth) const {
  const auto own = prefixes_.begin() + static_cast<std::ptrdiff_t>(depth);
  // In what was typed a bar behind a name is a pipe, not docker compose's mark.
  const bool is_typed = before.is_typed();
  const auto is_pipe = [&](const Prefix& one) {
    return is_typed && without_blanks(text_.substr(0, one.end)).ends_with('|');
  };
  const auto stands_for_itself = [&](const Prefix& one) { return one.is_certain && !is_pipe(one); };
  if (std::any_of(own, prefixes_.end(), stands_for_itself)) return true;
  const char mark = mark_of(text_);
  return mark != '\0' && mark == mark_of(before.text_);
}

}  // namespace headroom::logs
