// SPDX-License-Identifier: Apache-2.0
#include "stand_ins/stream_queues.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace headroom::stand_ins {
namespace {

class StreamQueuesTest : public ::testing::Test {
 protected:
  // Gives the stream a piece of work that leaves its letter in done_.
  void give(StreamNumber stream, char letter) {
    queues_.add(stream, [this, letter] { done_ += letter; });
  }

  StreamQueues queues_;
  std::string done_;
  StreamNumber a_ = queues_.create(false);
  StreamNumber b_ = queues_.create(false);
};

TEST_F(StreamQueuesTest, nothing_runs_before_somebody_waits) {
  give(a_, 'a');
  EXPECT_EQ(done_, "");
  EXPECT_FALSE(queues_.is_done(queues_.now(a_)));
  queues_.run(queues_.now(a_));
  EXPECT_EQ(done_, "a");
  EXPECT_TRUE(queues_.is_done(queues_.now(a_)));
}

TEST_F(StreamQueuesTest, a_wait_runs_its_stream_up_to_the_point_and_no_other) {
  give(a_, '1');
  give(b_, 'b');
  const Point point = queues_.now(a_);
  give(a_, '2');
  queues_.run(point);
  EXPECT_EQ(done_, "1");
  EXPECT_EQ(queues_.queued(), 2U);
}

TEST_F(StreamQueuesTest, what_a_point_waits_for_runs_first) {
  give(a_, '1');
  queues_.wait_for(b_, queues_.now(a_));
  give(a_, '2');
  give(b_, 'b');
  queues_.run(queues_.now(b_));
  EXPECT_EQ(done_, "1b");
}

TEST_F(StreamQueuesTest, all_is_done_in_no_order_but_that_which_was_asked_for) {
  give(a_, '1');
  give(b_, '2');
  queues_.wait_for(b_, queues_.now(a_));
  give(a_, '3');
  give(b_, '4');
  queues_.run_all();
  EXPECT_EQ(done_, "1243");
}

TEST_F(StreamQueuesTest, waits_in_a_row_are_followed_however_many) {
  for (int i = 0; i < 100'000; ++i) {
    give(i % 2 == 0 ? a_ : b_, 'x');
    queues_.wait_for(i % 2 == 0 ? b_ : a_, queues_.now(i % 2 == 0 ? a_ : b_));
  }
  queues_.run(queues_.now(a_));
  EXPECT_EQ(done_.size(), 100'000U);
}

TEST_F(StreamQueuesTest, the_null_stream_and_blocking_ones_wait_for_each_other) {
  const StreamNumber blocking = queues_.create(true);
  give(blocking, '1');
  give(a_, 'a');
  give(null_stream, '2');
  give(blocking, '3');
  queues_.run(queues_.now(blocking));
  EXPECT_EQ(done_, "123") << "and not a, whose stream does not block";
}

TEST_F(StreamQueuesTest, a_capture_takes_the_work_of_streams_that_joined_it) {
  give(a_, '1');
  const std::uint64_t capture = queues_.begin_capture(a_);
  give(a_, '2');
  queues_.wait_for(b_, queues_.now(a_));
  give(b_, '3');
  queues_.run_all();
  EXPECT_EQ(done_, "1");
  const auto work = queues_.end_capture(capture);
  EXPECT_EQ(queues_.capture_of(b_), 0U);
  for (const auto& each : work) each();
  EXPECT_EQ(done_, "123");
}

}  // namespace
}  // namespace headroom::stand_ins
