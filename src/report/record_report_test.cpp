// SPDX-License-Identifier: Apache-2.0
#include "report/record_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::report {
namespace {

using ::testing::HasSubstr;

TEST(RecordReport, what_a_program_said_keeps_its_lines) {
  plan::Record record;
  record.id = "20261121T223011Z-ttm-cap";
  record.state = plan::State::undone;
  record.undone_from = plan::State::applying;
  record.said = "step 3: found 1\n    generating\x1b[31m\n    no room";
  const auto text = history_to_text({{record, {}}}, Style{false, 80});
  EXPECT_THAT(text, HasSubstr("  step 3: found 1\n  generating?[31m\n  no room\n"));
  const auto undone =
      to_text(UndoReport{record, 0, {"by hand, please: x\n    no room"}}, Style{false, 80});
  EXPECT_THAT(undone, HasSubstr("  - by hand, please: x\n    no room\n"));
}

}  // namespace
}  // namespace headroom::report
