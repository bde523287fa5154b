// SPDX-License-Identifier: Apache-2.0
#include "tokens/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace headroom::tokens {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> read(const std::string& text) {
  const MemoryBytes bytes(text);
  LineReader reader(bytes);
  std::vector<std::string> lines;
  std::string line;
  for (;;) {
    const auto more = reader.next(line);
    EXPECT_TRUE(more);
    if (!more || !*more) return lines;
    lines.push_back(line);
    EXPECT_EQ(reader.number(), lines.size());
  }
}

TEST(LineReader, lines_end_at_line_ends_and_at_the_end_of_the_file) {
  EXPECT_THAT(read(""), ElementsAre());
  EXPECT_THAT(read("\n"), ElementsAre(""));
  EXPECT_THAT(read("a\r\n\nb"), ElementsAre("a", "", "b"));
  EXPECT_THAT(read("a\n"), ElementsAre("a"));
  EXPECT_THAT(read("\xef\xbb\xbf"
                   "a\n\xef\xbb\xbf"
                   "b"),
              ElementsAre("a",
                          "\xef\xbb\xbf"
                          "b"));
}

TEST(LineReader, lines_may_be_longer_than_what_is_read_at_once) {
  const std::string longer(std::size_t{3} << 20U, 'x');
  EXPECT_THAT(read("a\n" + longer + "\nb\n"), ElementsAre("a", longer, "b"));
}

// A file without an end and without a line end.
class Endless final : public RandomAccess {
 public:
  std::uint64_t size() const override { return std::uint64_t{1} << 60U; }
  Result<std::size_t> read_at(std::uint64_t /*offset*/, std::span<char> buffer) const override {
    std::fill(buffer.begin(), buffer.end(), 'x');
    return buffer.size();
  }
};

TEST(LineReader, a_line_that_would_not_fit_into_memory_is_refused) {
  const Endless bytes;
  LineReader reader(bytes);
  std::string line;
  const auto next = reader.next(line);
  ASSERT_FALSE(next);
  EXPECT_THAT(next.error().message, ::testing::HasSubstr("line 1: expected lines of at most"));
}

}  // namespace
}  // namespace headroom::tokens
