// SPDX-License-Identifier: Apache-2.0
#include "report/script_text.h"

#include <gtest/gtest.h>

namespace headroom::report {
namespace {

TEST(ScriptText, whole_lines_are_a_quoted_here_document) {
  EXPECT_EQ(feed("cat", "a $b\n"), "cat <<'END'\na $b\nEND\n");
}

TEST(ScriptText, the_end_is_a_line_that_the_text_lacks) {
  EXPECT_EQ(feed("cat", "END\n"), "cat <<'END_'\nEND\nEND_\n");
}

TEST(ScriptText, a_text_without_a_last_line_end_and_bytes_are_escaped) {
  EXPECT_EQ(feed("cat", "a"), "{\nprintf '%b' '\\0141'\n} | cat\n");
  EXPECT_EQ(feed("cat", std::string("\0\n", 2)), "{\nprintf '%b' '\\0000\\0012'\n} | cat\n");
}

TEST(ScriptText, nothing_is_an_empty_here_document) {
  EXPECT_EQ(feed("cat", ""), "cat <<'END'\nEND\n");
}

}  // namespace
}  // namespace headroom::report
