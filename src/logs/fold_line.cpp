// SPDX-License-Identifier: Apache-2.0
#include "logs/fold_line.h"

#include <re2/re2.h>

#include <algorithm>

namespace headroom::logs {
namespace {

constexpr std::string_view blanks = " \t";

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
      is_apart_(line.is_apart) {}

std::string_view FoldLine::body(std::size_t depth) const {
  depth = std::min(depth, prefixes_.size());
  return depth == 0 ? text_ : text_.substr(prefixes_[depth - 1].end);
}

bool FoldLine::begins_anew(std::size_t depth) const {
  static const RE2 beginnings(
      R"(^(?:[$#] |>>>|\(\w[\w.-]*\) ?[\w$]|\[?[\w.-]+@[\w.-]+[:~ ][^$#]{0,60}[$#](?: |$)|PS [A-Z]:|)"
      R"(Traceback \(most recent|\s{1,8}File "|During handling of|The above exception|-- Boot|)"
      R"((?:\w+\.)*[A-Z]\w*(?:Error|Exception): |\[\w+\]: |[=*-]{5,}))");
  const std::string_view rest = body(depth);
  if (is_apart_ || is_blank_ || logs::is_blank(rest)) return true;
  return RE2::PartialMatch(re2::StringPiece(rest.data(), rest.size()), beginnings);
}

bool FoldLine::has_prefixes_of(const FoldLine& before) const {
  if (prefixes_.size() > before.prefixes_.size()) return false;
  return std::equal(
      prefixes_.begin(), prefixes_.end(), before.prefixes_.begin(),
      [](const Prefix& a, const Prefix& b) { return a.form == b.form && a.origin == b.origin; });
}

}  // namespace headroom::logs
