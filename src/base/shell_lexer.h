// SPDX-License-Identifier: Apache-2.0
// A shell's text as tokens, each with its bytes (POSIX XCU 2.2, 2.3, 2.6, 2.7): quotes, escapes,
// comments, continued lines and here-documents are told apart, and nothing is expanded. The tokens
// are the whole text, byte for byte, whatever the text is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// What differs between shells, and between a script and what people paste.
struct ShellRules {
  // "$x", "$(…)" and "`…`" belong to their word. Without it "$" is a letter, and "`", "(" and ")"
  // separate, so that what stands inside is seen too.
  bool expansions = true;
  bool arrays = false;  // bash: NAME=(…) is one word.
};

// A piece of a word: [begin, end) of the text.
struct ShellPart {
  enum class Kind : std::uint8_t {
    literal,    // Bytes that stand for themselves.
    expansion,  // What a shell would replace: a parameter, a command's output, an array.
    syntax,     // Quotes, backslashes and continued lines: the word is without them.
  };
  Kind kind = Kind::literal;
  std::size_t begin = 0, end = 0;
  bool quoted = false;  // It stands between quotes.
};

struct ShellToken {
  enum class Kind : std::uint8_t {
    word,
    here_delimiter,  // The word behind "<<".
    here_document,   // All of it, with the line that ends it.
    separator,       // ; & | && || ;; ( ) and, without expansions, `
    redirection,     // < > >> << <<- <& >& <> >| <<<
    comment,
    blank,  // Blanks, tabs, carriage returns and continued lines.
    newline,
  };
  Kind kind = Kind::word;
  std::size_t begin = 0, end = 0;
  int line = 1;      // On which it begins.
  std::string text;  // Of a word and a delimiter: quotes resolved, expansions as written.
  std::vector<ShellPart> parts;  // Likewise.
  bool quoted = false;           // It has quotes, be they empty.

  bool is_word() const { return kind == Kind::word || kind == Kind::here_delimiter; }
};

// An unclosed quote or substitution runs to the end of the text.
std::vector<ShellToken> lex_shell(std::string_view text, ShellRules rules = {});

// The parts of a text that is one word, or the end of one, whatever stands in it.
std::vector<ShellPart> split_shell_word(std::string_view word, ShellRules rules = {});

}  // namespace headroom
