// SPDX-License-Identifier: Apache-2.0
// The words that base/shell_lexer.h finds are the words that /bin/sh makes of the same text.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <filesystem>
#include <numeric>

#include "base/shell_lexer.h"
#include "machine/programs.h"

namespace headroom::machine {
namespace {

// A line that any shell accepts and that expands to nothing else: quotes are closed, and what names
// files is left out.
rc::Gen<std::string> simple_line() {
  const auto piece = rc::gen::element<std::string>(
      "a", "b=1", "é", "-e", " ", "\t", "\\\n", "\\ ", "\\\\", "\\\"", "\\'", "\\$", "\\#", "\\;",
      "'x  y'", "''", "'\"\\'", "\"x  y\"", "\"\"", "\"'\"", "\"\\\\\"", "\"\\\"\"", "\"\\$x\"",
      "\"\\`\"", "\"\\n\"", "\"a\\\nb\"", "'a\nb'", "a#", "$ ", "{", "}", "!", "%", ",");
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(piece),
                      [](const std::vector<std::string>& pieces) {
                        return std::accumulate(pieces.begin(), pieces.end(), std::string());
                      });
}

std::string shown(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += "<" + word + ">";
  return text + "\n";
}

TEST(ShellWords, are_those_of_the_shell) {
  if (!std::filesystem::exists("/bin/sh")) GTEST_SKIP() << "no /bin/sh here";
  // One shell for all lines: show prints its arguments.
  std::string script = "set -f; show() { for a do printf '<%s>' \"$a\"; done; echo; }\n";
  std::string expected;
  rc::check([&] {
    const std::string line = "show " + *simple_line() + " # it's";
    std::vector<std::string> words;
    for (const ShellToken& token : lex_shell(line)) {
      if (token.is_word()) words.push_back(token.text);
    }
    words.erase(words.begin());
    script += line + "\n";
    expected += shown(words);
  });
  const auto output = (*make_programs("/"))->run({"sh", "-c", script});
  ASSERT_TRUE(output.has_value()) << output.error().message;
  EXPECT_EQ(output->text, expected);
}

}  // namespace
}  // namespace headroom::machine
