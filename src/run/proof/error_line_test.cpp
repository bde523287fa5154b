// SPDX-License-Identifier: Apache-2.0
#include "run/proof/error_line.h"

#include <gtest/gtest.h>

namespace headroom::run {
namespace {

std::string line_of(std::string_view text) {
  ErrorLine line;
  for (const char one : text) line.feed({&one, 1});
  return line.text();
}

TEST(ErrorLine, exception_goes_before_the_advice_behind_it) {
  EXPECT_EQ(line_of("Traceback (most recent call last):\n  File \"x.py\", line 3\n"
                    "RuntimeError: HIP error: invalid device function\n"
                    "Compile with `TORCH_USE_HIP_DSA` to enable device-side assertions.\n\n"),
            "RuntimeError: HIP error: invalid device function");
  EXPECT_EQ(line_of("torch.OutOfMemoryError: HIP out of memory."),
            "torch.OutOfMemoryError: HIP out of memory.");
}

TEST(ErrorLine, last_line_with_words_where_there_is_no_exception) {
  EXPECT_EQ(line_of("warning\nMemory access fault by GPU node-1\n  \n"),
            "Memory access fault by GPU node-1");
  EXPECT_EQ(line_of("no end"), "no end");
  EXPECT_EQ(line_of("  \n\n"), "");
}

TEST(ErrorLine, long_line_is_kept_by_its_beginning) {
  const std::string text = line_of("ValueError: " + std::string(100000, 'x') + "\n");
  EXPECT_EQ(text.size(), 400);
  EXPECT_TRUE(text.starts_with("ValueError: x"));
}

TEST(ErrorLine, line_that_points_to_help_says_nothing) {
  ErrorLine line;
  line.feed("docker: Cannot connect to the Docker daemon.\n\nRun 'docker run --help' for more\n");
  EXPECT_EQ(line.text(), "docker: Cannot connect to the Docker daemon.");
}

}  // namespace
}  // namespace headroom::run
