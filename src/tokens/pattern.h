// SPDX-License-Identifier: Apache-2.0
// A regular expression or a fixed text of tokenizer.json, and where it is found. Expressions run on
// PCRE2, compiled to machine code where the system allows that, and never longer than a limit.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headroom::tokens {

struct Span {
  std::size_t begin = 0, end = 0;  // Bytes of a text.
};

// One thread at a time.
class Pattern {
 public:
  // `expression` as Oniguruma reads it (pattern_syntax.h). Fails where it has no translation or is
  // not well-formed.
  static Result<Pattern> compile(std::string_view expression);
  // A text that stands for itself; an empty one is never found.
  static Pattern exactly(std::string text);

  Pattern(Pattern&& other) noexcept;
  Pattern& operator=(Pattern&& other) noexcept;
  ~Pattern();

  // Replaces `matches` by the matches from left to right. An empty one does not follow another
  // directly. Fails (invalid) where the expression needs more steps than the limit. Requires:
  // `text` is UTF-8.
  Status find_all(std::string_view text, std::vector<Span>& matches) const;

 private:
  struct Compiled;
  Pattern();

  Status find_expression(std::string_view text, std::vector<Span>& matches) const;
  Result<bool> match_at(std::string_view text, std::size_t from, Span& match) const;

  std::unique_ptr<Compiled> compiled_;  // Null: `text_` itself.
  std::string text_;
};

}  // namespace headroom::tokens
