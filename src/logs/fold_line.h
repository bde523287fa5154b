// SPDX-License-Identifier: Apache-2.0
// What a line shows of having been folded, by itself: its prefixes, its width, its first word, and
// whether it can go on with another one at all.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "logs/line_prefix.h"
#include "logs/pasted_lines.h"

namespace headroom::logs {

// How the piece of a line that was folded begins.
enum class Glue {
  nothing,         // In the middle of a word, or with its own blanks.
  without_indent,  // Likewise, behind blanks of a hanging indent.
  blank,           // The blank between two words became the line's end.
};

class FoldLine {
 public:
  // The line must outlive this.
  explicit FoldLine(const PastedLine& line);

  std::string_view text() const { return text_; }
  // Behind the first `depth` prefixes.
  std::string_view body(std::size_t depth) const;
  // Columns of the body.
  std::size_t width(std::size_t depth) const { return columns_of(body(depth)); }
  // How many prefixes stand before its text.
  std::size_t depth() const { return prefixes_.size(); }
  // How many of them stand before the other one, too.
  std::size_t common_depth(const FoldLine& other) const;
  bool is_blank() const { return is_blank_; }
  bool is_apart() const { return is_apart_; }
  // Behind a prompt.
  bool is_typed() const;
  // Nothing that was folded continues here: it is typed, or a traceback or a rule begins.
  bool begins_anew() const;
  // Nor behind a prefix of its own, or a mark that `before` has, too, which has `depth` prefixes in
  // common with it.
  bool has_own_beginning(const FoldLine& before, std::size_t depth) const;
  // It does continue here if it is the end of a table's row, although "MB  |" reads like the name
  // of a service.
  bool ends_row_of(const FoldLine& before) const;

 private:
  std::string_view text_;
  std::vector<Prefix> prefixes_;
  bool is_blank_ = false;
  bool is_apart_ = false;
};

// Blanks at its beginning.
std::size_t indent_of(std::string_view text);
// Columns of the first word; 0 if there is none.
std::size_t first_word_of(std::string_view text);
std::size_t last_word_of(std::string_view text);
bool has_one_word(std::string_view text);

}  // namespace headroom::logs
