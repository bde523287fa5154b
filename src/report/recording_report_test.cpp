// SPDX-License-Identifier: Apache-2.0
#include "report/recording_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.h"

namespace headroom::report {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(RecordingReport, says_whose_it_is_how_it_ended_and_what_is_not_in_it) {
  allocator::Recording recording;
  recording.pid = 4711;
  recording.device = "Radeon RX 7900 XT";
  recording.events.resize(3);
  recording.lost = 100;
  recording.torn = 1;
  const std::string text = introduce("job.flight", RecordingFacts(recording), 200);
  EXPECT_THAT(text, HasSubstr("job.flight: flight recording of process 4711 on Radeon RX 7900 XT, "
                              "which was killed or still runs; 3 events, without the one being "
                              "written"));
  EXPECT_THAT(text, HasSubstr("100 older events were overwritten"));
  EXPECT_THAT(text, Not(HasSubstr("damaged")));
  recording.closed = true;
  recording.damaged = 2;
  EXPECT_THAT(introduce("x", RecordingFacts(recording), 200), HasSubstr("ended in order"));
  const Json json = to_json(RecordingFacts(recording));
  EXPECT_EQ(json["events"], 3);
  EXPECT_EQ(json["damaged"], 2);
  EXPECT_EQ(json["closed"], true);
  EXPECT_EQ(json["device_events"], "none");
  recording.device_events = allocator::DeviceEvents::all;
  EXPECT_EQ(to_json(RecordingFacts(recording))["device_events"], "all");
}

}  // namespace
}  // namespace headroom::report
