// SPDX-License-Identifier: Apache-2.0
// Words and their bytes out of a shell's text; tests/machine/shell_words_test.cpp compares them
// with what a shell makes of it.
#include "base/shell_lexer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <numeric>

#include "base/shell_quote.h"

namespace headroom {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> words_of(std::string_view text, ShellRules rules = {}) {
  std::vector<std::string> words;
  for (const ShellToken& token : lex_shell(text, rules)) {
    if (token.is_word()) words.push_back(token.text);
  }
  return words;
}

// The bytes of every token of a kind.
std::vector<std::string> bytes_of(ShellToken::Kind kind, std::string_view text) {
  std::vector<std::string> bytes;
  for (const ShellToken& token : lex_shell(text)) {
    if (token.kind == kind) bytes.emplace_back(text.substr(token.begin, token.end - token.begin));
  }
  return bytes;
}

// What shells find hard, in any order.
rc::Gen<std::string> shell_text() {
  const auto piece = rc::gen::element<std::string>(
      "a", "b=1", "é", " ", "\t", "\r\n", "\n", "\\", "\\\n", "\\ ", "'", "\"", "'x y'", "\"x $y\"",
      "$", "$x", "${", "${a:-'}'}", "}", "$(", "(", ")", "`", "#", ";", ";;", "&&", "|", "<", ">",
      "<<", "<<-E\n", "E", "=(", "\\\"", std::string(1, '\0'), "\xff");
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(piece),
                      [](const std::vector<std::string>& pieces) {
                        return std::accumulate(pieces.begin(), pieces.end(), std::string());
                      });
}

rc::Gen<ShellRules> any_rules() {
  return rc::gen::element(ShellRules{}, ShellRules{true, true}, ShellRules{false, false});
}

TEST(ShellLexer, tokens_are_the_whole_text_and_parts_the_whole_word) {
  rc::check([] {
    const std::string text = *shell_text();
    std::size_t at = 0;
    int line = 1;
    for (const ShellToken& token : lex_shell(text, *any_rules())) {
      RC_ASSERT(token.begin == at);
      RC_ASSERT(token.end > at);
      RC_ASSERT(token.line == line);
      line +=
          static_cast<int>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                      text.begin() + static_cast<std::ptrdiff_t>(token.end), '\n'));
      at = token.end;
      std::size_t part_at = token.begin;
      for (const ShellPart& part : token.parts) {
        RC_ASSERT(part.begin == part_at);
        RC_ASSERT(part.end > part_at);
        part_at = part.end;
      }
      RC_ASSERT(part_at == (token.is_word() ? token.end : token.begin));
    }
    RC_ASSERT(at == text.size());
  });
}

TEST(ShellLexer, a_word_alone_is_split_into_the_same_parts) {
  rc::check([] {
    const std::string text = *shell_text();
    for (const ShellToken& token : lex_shell(text)) {
      if (!token.is_word()) continue;
      const auto parts =
          split_shell_word(std::string_view(text).substr(token.begin, token.end - token.begin));
      RC_ASSERT(parts.size() == token.parts.size());
      for (std::size_t i = 0; i < parts.size(); ++i) {
        RC_ASSERT(parts[i].kind == token.parts[i].kind);
        RC_ASSERT(parts[i].begin + token.begin == token.parts[i].begin);
        RC_ASSERT(parts[i].quoted == token.parts[i].quoted);
      }
    }
  });
}

TEST(ShellLexer, quoted_words_come_back_as_they_were) {
  rc::check([] {
    const auto letter = rc::gen::oneOf(rc::gen::inRange(' ', '\x7f'),
                                       rc::gen::element('\n', '\t', '\'', '"', '\\', '$', '#'));
    const auto words =
        *rc::gen::container<std::vector<std::string>>(rc::gen::container<std::string>(letter));
    RC_ASSERT(words_of(shell_line(words)) == words);
  });
}

TEST(ShellLexer, words_of_any_text_are_the_same_once_they_are_quoted) {
  rc::check([] {
    const std::string text = *shell_text();
    std::vector<std::string> words;
    for (const ShellToken& token : lex_shell(text)) {
      const bool hidden = token.text.find_first_of(std::string("\0\r\xff", 3)) != std::string::npos;
      if (token.is_word() && !hidden) words.push_back(token.text);
    }
    RC_ASSERT(words_of(shell_line(words)) == words);
  });
}

TEST(ShellLexer, quotes_and_escapes_are_resolved_and_expansions_left) {
  EXPECT_THAT(words_of("a\\ b 'c d'\"e f\" \"\\$x \\n\" ''"),
              ElementsAre("a b", "c de f", "$x \\n", ""));
  EXPECT_THAT(words_of("A=$(b 'c)' \"$(d)\" `e`) ${f:-\"}\"}x `g \\` h` $((1 + (2)))"),
              ElementsAre("A=$(b 'c)' \"$(d)\" `e`)", "${f:-\"}\"}x", "`g \\` h`", "$((1 + (2)))"));
  EXPECT_THAT(words_of("\"${a:-'}\" b'}'"), ElementsAre("${a:-'}", "b}"))
      << "a single quote is a letter between double quotes";
  EXPECT_THAT(words_of("A=(x 'y )' z) B", {.arrays = true}), ElementsAre("A=(x 'y )' z)", "B"));
  EXPECT_THAT(words_of("A=(x) B"), ElementsAre("A=", "x", "B"));
  EXPECT_THAT(words_of("`a $(b \"$c\")`", {.expansions = false}), ElementsAre("a", "$", "b", "$c"));
  EXPECT_TRUE(lex_shell("''").at(0).quoted);
  EXPECT_FALSE(lex_shell("\\'").at(0).quoted);
}

TEST(ShellLexer, continued_lines_join_words_and_belong_to_none_at_its_end) {
  const std::string text = "ab\\\ncd e\\\n  f \\\r\n\tg";
  EXPECT_THAT(words_of(text), ElementsAre("abcd", "e", "f", "g"));
  EXPECT_THAT(bytes_of(ShellToken::Kind::word, text), ElementsAre("ab\\\ncd", "e", "f", "g"));
  EXPECT_THAT(words_of("\"a\\\nb\""), ElementsAre("ab"));
  EXPECT_EQ(lex_shell("a \\\n b").back().line, 2);
}

TEST(ShellLexer, comments_begin_where_a_word_could) {
  EXPECT_THAT(bytes_of(ShellToken::Kind::comment, "# a\nb#c 'd' #e \"f\n;#g"),
              ElementsAre("# a", "#e \"f", "#g"));
  EXPECT_THAT(words_of("b#c"), ElementsAre("b#c"));
}

TEST(ShellLexer, here_documents_are_no_words) {
  const std::string text = "cat <<A <<-\"B C\" x\na $(\nA\n\tb\n\tB C\nls\n";
  EXPECT_THAT(words_of(text), ElementsAre("cat", "A", "B C", "x", "ls"));
  EXPECT_THAT(bytes_of(ShellToken::Kind::here_delimiter, text), ElementsAre("A", "\"B C\""));
  EXPECT_THAT(bytes_of(ShellToken::Kind::here_document, text),
              ElementsAre("a $(\nA\n", "\tb\n\tB C\n"));
  EXPECT_THAT(words_of("cat <<A\nb"), ElementsAre("cat", "A")) << "it runs to the end";
  EXPECT_THAT(words_of("cat <<<A\nb"), ElementsAre("cat", "A", "b"));
}

TEST(ShellLexer, what_separates_commands_is_told_from_redirections) {
  EXPECT_THAT(bytes_of(ShellToken::Kind::separator, "a&&b||c;;d|e&f (g)"),
              ElementsAre("&&", "||", ";;", "|", "&", "(", ")"));
  EXPECT_THAT(bytes_of(ShellToken::Kind::redirection, "a >b 2>&1 <>c >|d >>e"),
              ElementsAre(">", ">&", "<>", ">|", ">>"));
}

TEST(ShellLexer, nesting_has_no_bound_and_no_text_breaks_it) {
  std::string deep = "a ";
  for (int i = 0; i < 200000; ++i) deep += "\"$(${`";
  EXPECT_EQ(words_of(deep).size(), 2U);
  EXPECT_THAT(words_of(""), IsEmpty());
  EXPECT_THAT(words_of("a\\"), ElementsAre("a\\"));
}

}  // namespace
}  // namespace headroom
