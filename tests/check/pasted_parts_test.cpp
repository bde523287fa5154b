// SPDX-License-Identifier: Apache-2.0
// People paste parts of logs: lines are left out of the middle, a log begins or ends within a line,
// one file holds several pastes. What is missing tells nothing, so that no part may bring in a
// cause that neither the whole log nor the log without its cut line has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "support/pasting.h"
#include "support/recorded_logs.h"
#include "support/sampling.h"

namespace headroom {
namespace {

using testing::answer;
using testing::Dress;
using testing::Folding;
using testing::logs_there;
using testing::matches_signature;
using testing::Recorded;
using testing::split_lines;

std::string together(const std::vector<std::string>& lines, std::size_t begin, std::size_t end) {
  std::string text;
  for (std::size_t line = begin; line < end; ++line) text += lines[line] + "\n";
  return text;
}

const Dress& dress_named(std::string_view name) {
  for (const Dress& dress : testing::dresses()) {
    if (dress.name == name) return dress;
  }
  throw std::invalid_argument("no such dress: " + std::string(name));
}

class PartsOfLogs : public ::testing::TestWithParam<std::size_t> {
 protected:
  const Recorded& log() const { return logs_there()[GetParam()]; }
};

TEST_P(PartsOfLogs, a_line_cut_in_the_middle_brings_in_no_cause_of_its_own) {
  const std::vector<std::string> lines = split_lines(log().log);
  if (lines.size() < 3) GTEST_SKIP() << "too short to be cut";
  const std::string whole = answer(log().log, log().facts);
  const std::string without_first = answer(together(lines, 1, lines.size()), log().facts);
  const std::string without_last = answer(together(lines, 0, lines.size() - 1), log().facts);
  const std::string none = "insufficient-evidence";
  for (const std::size_t share : {1, 2, 3}) {
    const std::size_t first = lines.front().size() * share / 4;
    EXPECT_THAT((std::set{none, whole, without_first}),
                ::testing::Contains(answer(log().log.substr(first), log().facts)))
        << "without " << first << " bytes at the beginning";
    const std::size_t last = lines.back().size() * share / 4;
    const std::string ends_early =
        together(lines, 0, lines.size() - 1) + lines.back().substr(0, last);
    EXPECT_THAT((std::set{none, whole, without_last}),
                ::testing::Contains(answer(ends_early, log().facts)))
        << "with " << last << " bytes of the last line";
  }
}

// Lines of which no signature knows anything are left out, as people do, and a mark stands there.
TEST_P(PartsOfLogs, what_was_left_out_leaves_the_answer) {
  const std::vector<std::string> lines = split_lines(log().log);
  const std::string expected = answer(log().log, log().facts);
  for (const char* mark : {"[...]", "[snip]", "…", "...", "<snip>", "[... 120 lines omitted ...]",
                           "(truncated)", "--- 8< ---", "~~~ cut ~~~"}) {
    std::string text;
    bool is_left_out = false;
    for (const std::string& line : lines) {
      const bool is_told = matches_signature(line) || line.find_first_not_of(' ') == line.npos;
      if (is_told) text += line + "\n";
      if (!is_told && !is_left_out) text += std::string(mark) + "\n";
      is_left_out = !is_told;
    }
    EXPECT_EQ(answer(text, log().facts), expected) << mark;
  }
}

// One file with several pastes, each folded and dressed in its own way.
TEST_P(PartsOfLogs, several_pastes_in_one_file_are_one_log) {
  const std::vector<std::string> lines = split_lines(log().log);
  if (lines.size() < 4) GTEST_SKIP() << "too short to be parted";
  const std::string expected = answer(log().log, log().facts);
  const std::size_t middle = lines.size() / 2;
  const auto in_fence = [](const std::string& text) { return "```\n" + text + "```\n"; };
  const std::string first = together(lines, 0, middle);
  const std::string second = together(lines, middle, lines.size());
  EXPECT_EQ(answer(in_fence(first) + "\nand then\n\n" + in_fence(second), log().facts), expected);
  EXPECT_EQ(answer(put_on(first, dress_named("quoted")) + "\n" + second, log().facts), expected);
  EXPECT_EQ(answer(put_on(first, dress_named("numbered, bar")) + "\n" +
                       put_on(second, dress_named("quoted twice")),
                   log().facts),
            expected);
  EXPECT_EQ(answer(in_fence(fold(first, Folding{83, false, 0})) + "\n" +
                       in_fence(fold(second, Folding{109, false, 0})),
                   log().facts),
            expected);
}

INSTANTIATE_TEST_SUITE_P(Recorded, PartsOfLogs,
                         ::testing::Range(std::size_t{0}, logs_there().size()),
                         [](const auto& which) { return testing::name_of(which.param); });
// Without the recorded logs there is nothing to try.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PartsOfLogs);

}  // namespace
}  // namespace headroom
