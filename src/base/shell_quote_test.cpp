// SPDX-License-Identifier: Apache-2.0
#include "base/shell_quote.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

TEST(ShellQuote, what_needs_no_quotes_has_none) {
  EXPECT_EQ(shell_quote("/etc/modprobe.d/x.conf"), "/etc/modprobe.d/x.conf");
  EXPECT_EQ(shell_quote(""), "''");
  EXPECT_EQ(shell_quote("a b"), "'a b'");
  EXPECT_EQ(shell_quote("it's größe\n"), "'it'\\''s größe\n'");
}

TEST(ShellQuote, hidden_characters_are_bytes_that_printf_makes) {
  EXPECT_EQ(shell_quote("a\xc2\x9b"
                        "2J"),
            "'a'\"$(printf '\\302\\233')\"'2J'");
  EXPECT_EQ(shell_quote("\xe2\x80\xae"), "''\"$(printf '\\342\\200\\256')\"''");
  EXPECT_EQ(shell_quote("\xff\r"), "''\"$(printf '\\377')\"''\"$(printf '\\015')\"''");
}

TEST(ShellOperand, what_others_have_named_is_one_word_and_no_option) {
  EXPECT_EQ(shell_operand("vllm.service"), "vllm.service");
  EXPECT_EQ(shell_operand("a;touch b;.service"), "'a;touch b;.service'");
  EXPECT_EQ(shell_operand("vllm\\x2dserve.service"), "'vllm\\x2dserve.service'");
  EXPECT_EQ(shell_operand("-x --now.service"), "-- '-x --now.service'");
}

TEST(ShellOption, a_value_cannot_be_another_option) {
  EXPECT_EQ(shell_option("--unit", "a.service"), "--unit a.service");
  EXPECT_EQ(shell_option("--unit", "$(id).service"), "--unit '$(id).service'");
  EXPECT_EQ(shell_option("--unit", "--all"), "--unit=--all");
}

}  // namespace
}  // namespace headroom
