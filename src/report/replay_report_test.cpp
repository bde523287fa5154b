// SPDX-License-Identifier: Apache-2.0
#include "report/replay_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.h"

namespace headroom::report {
namespace {

using testing::HasSubstr;
using testing::Not;

ReplayRow row(bool completed, std::optional<std::uint64_t> capacity = std::nullopt) {
  ReplayRow row;
  row.policy = "headroom";
  row.capacity_bytes = capacity;
  row.result.completed = completed;
  row.result.events = 1;
  if (!completed) {
    row.result.failed_at = 1;
    row.result.failed_bytes = std::uint64_t{1} << 50U;
  }
  return row;
}

const TraceFacts trace{"job.trace", 1, std::uint64_t{1} << 50U};

TEST(ReplayReport, memory_that_ran_out_was_not_unlimited) {
  const std::string text = to_text(trace, {row(false)}, 200);
  EXPECT_THAT(text, HasSubstr("out of memory at 1"));
  EXPECT_THAT(text, Not(HasSubstr("unlimited")));
  EXPECT_THAT(text, HasSubstr("in the 64.00 TiB that a replay has at most"));
  EXPECT_THAT(text, HasSubstr("No --capacity was given, and a replay has 64.00 TiB at most."));
  const std::string missing = to_json(trace, row(false))["missing"]["/capacity_bytes"];
  EXPECT_THAT(missing, HasSubstr("64.00 TiB"));
}

TEST(ReplayReport, one_policy_that_ran_out_tells_for_all) {
  EXPECT_THAT(to_text(trace, {row(true), row(false)}, 200), Not(HasSubstr("unlimited")));
}

TEST(ReplayReport, what_sufficed_is_called_as_before) {
  EXPECT_THAT(to_text(trace, {row(true)}, 200), HasSubstr("PiB, unlimited capacity\n"));
  EXPECT_EQ(to_json(trace, row(true))["missing"]["/capacity_bytes"],
            "no --capacity was given: unlimited");
  EXPECT_THAT(to_text(trace, {row(false, 4096)}, 200), HasSubstr("capacity 4.0 KiB\n"));
}

}  // namespace
}  // namespace headroom::report
