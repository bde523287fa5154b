// SPDX-License-Identifier: Apache-2.0
#include "allocator/files/flight_recorder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "allocator/files/process_identity.h"
#include "allocator/replay/recording.h"
#include "machine/temporary_folder.h"
#include "machine/user_files.h"

namespace headroom::allocator {
namespace {

using testing::HasSubstr;

class Flight : public testing::Test {
 protected:
  Flight() : folder_(*machine::TemporaryFolder::make()), path_(folder_.path() + "/record") {}

  Recording read() const {
    const auto bytes = machine::read_file(path_, std::size_t{1} << 30U);
    EXPECT_TRUE(bytes);
    auto recording = parse_flight_record(*bytes);
    EXPECT_TRUE(recording) << recording.error().message;
    return *recording;
  }
  void write(std::string_view text) const { std::ofstream(path_) << text; }

  machine::TemporaryFolder folder_;
  std::string path_;
};

FlightEvent event(std::uint64_t number) {
  return {.kind = FlightKind::allocate,
          .tag = Component::weights,
          .address = number * 512,
          .bytes = 512 + (number % 1000) * 512,
          .requested = 512 + (number % 1000) * 512};
}

TEST_F(Flight, what_was_noted_is_in_the_file_at_once) {
  auto recorder = FlightRecorder::create(path_, {.shards = 2, .device = "Radeon RX 7900 XT"});
  ASSERT_TRUE(recorder) << recorder.error().message;
  (*recorder)->shard(0).note(event(1));
  (*recorder)->shard(1).note(event(2));
  NameTable names;
  EXPECT_EQ(names.intern("lm_head"), 1);
  (*recorder)->add_names(names);
  EXPECT_EQ(names.intern("norm"), 2);
  (*recorder)->add_names(names);
  Recording recording = read();
  EXPECT_EQ(recording.events.size(), 2U);
  EXPECT_EQ(recording.names, (std::vector<std::string>{"", "lm_head", "norm"}));
  EXPECT_EQ(recording.device, "Radeon RX 7900 XT");
  EXPECT_EQ(recording.pid, static_cast<std::uint64_t>(::getpid()));
  EXPECT_EQ(recording.pid_start, read_own_identity()->start_ticks);
  EXPECT_FALSE(recording.closed);
  recorder->reset();
  EXPECT_TRUE(read().closed);
}

TEST_F(Flight, names_that_do_not_fit_are_left_out) {
  auto recorder = FlightRecorder::create(path_, {.name_bytes = 20});
  ASSERT_TRUE(recorder);
  NameTable names;
  for (int i = 0; i < 10; ++i) EXPECT_NE(names.intern(fmt::format("layer{}", i)), 0);
  (*recorder)->add_names(names);
  FlightEvent named = event(1);
  named.name = 2;
  (*recorder)->shard(0).note(named);
  named.name = 9;
  (*recorder)->shard(0).note(named);
  const Recording recording = read();
  EXPECT_EQ(recording.names.size(), 3U);
  EXPECT_EQ(recording.events[0].name, 2);
  EXPECT_EQ(recording.events[1].name, 0);
}

TEST_F(Flight, replaces_a_recording_and_nothing_else) {
  ASSERT_TRUE(FlightRecorder::create(path_, {}));
  ASSERT_TRUE(FlightRecorder::create(path_, {}));
  write("my thesis");
  const auto refused = FlightRecorder::create(path_, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("found another file"));
  EXPECT_EQ(*machine::read_file(path_), "my thesis");
}

TEST_F(Flight, a_recording_that_is_being_written_is_not_replaced) {
  auto recorder = FlightRecorder::create(path_, {});
  ASSERT_TRUE(recorder);
  const auto second = FlightRecorder::create(path_, {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::busy);
  EXPECT_THAT(second.error().message, HasSubstr(fmt::format("process {} does", ::getpid())));
  (*recorder)->shard(0).note(event(1));
  EXPECT_EQ(read().events.size(), 1U);
  recorder->reset();
  EXPECT_TRUE(FlightRecorder::create(path_, {}));
}

// Opening a pipe waits for a writer, and a device reads as empty: neither may be waited for or
// removed.
TEST_F(Flight, what_is_no_file_stays_and_is_not_waited_for) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const auto refused = FlightRecorder::create(path_, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("found a folder, a device or a pipe"));
  EXPECT_EQ(::access(path_.c_str(), F_OK), 0);
}

TEST_F(Flight, wrong_sizes_and_places_are_errors) {
  EXPECT_FALSE(FlightRecorder::create(path_, {.shards = 0}));
  EXPECT_FALSE(FlightRecorder::create(path_, {.shard_records = 0}));
  const auto nowhere = FlightRecorder::create(folder_.path() + "/no/such/folder", {});
  ASSERT_FALSE(nowhere);
  EXPECT_FALSE(nowhere.error().next.empty());
}

TEST_F(Flight, a_forked_child_leaves_the_recording_as_it_is) {
  auto recorder = FlightRecorder::create(path_, {});
  ASSERT_TRUE(recorder);
  (*recorder)->shard(0).note(event(1));
  const pid_t child = ::fork();
  if (child == 0) {
    (*recorder)->shard(0).note(event(2));
    recorder->reset();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read().events.size(), 1U);
  EXPECT_FALSE(read().closed);
}

TEST_F(Flight, threads_with_a_shard_each_lose_nothing) {
  auto recorder = FlightRecorder::create(path_, {.shards = 4, .shard_records = 4096});
  ASSERT_TRUE(recorder);
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 1; i <= 4000; ++i) (*recorder)->shard(t).note(event(i * 4 + t));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Recording recording = read();
  EXPECT_EQ(recording.events.size(), 16000U);
  EXPECT_EQ(recording.torn + recording.damaged + recording.lost, 0U);
}

// Notes events until it is killed. The n-th event of a ring says that it is the n-th.
[[noreturn]] void write_until_killed(const std::string& path, std::uint64_t records) {
  auto recorder = FlightRecorder::create(path, {.shard_records = records});
  if (!recorder) ::_exit(1);
  for (std::uint64_t i = 1;; ++i) (*recorder)->shard(0).note(event(i));
}

TEST_F(Flight, a_writer_that_is_killed_leaves_whole_events_in_order) {
  std::mt19937_64 random(7);
  int with_events = 0;
  for (int round = 0; round < 60; ++round) {
    const std::uint64_t records = round % 2 == 0 ? 64 : 1024;
    ::unlink(path_.c_str());
    const pid_t child = ::fork();
    if (child == 0) write_until_killed(path_, records);
    ::usleep(static_cast<useconds_t>(2000 + random() % 4000));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    const auto bytes = machine::read_file(path_, std::size_t{1} << 30U);
    if (!bytes || !is_flight_record(*bytes)) continue;  // It had not begun.
    const Recording recording = read();
    EXPECT_LE(recording.torn, 1U);
    EXPECT_EQ(recording.damaged, 0U);
    for (std::size_t i = 0; i < recording.events.size(); ++i) {
      const std::uint64_t number = recording.lost + recording.torn + i + 1;
      FlightEvent expected = event(number);
      expected.time_us = recording.events[i].time_us;
      ASSERT_EQ(recording.events[i], expected) << "round " << round << ", event " << i;
    }
    if (!recording.events.empty()) ++with_events;
  }
  EXPECT_GT(with_events, 20);
}

TEST(ProcessIdentity, tells_this_process_from_an_ended_one) {
  const auto own = read_own_identity();
  ASSERT_TRUE(own);
  EXPECT_EQ(read_start_ticks(own->pid), own->start_ticks);
  EXPECT_NE(own->pid_namespace, 0U);
  EXPECT_FALSE(own->command.empty());
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t info = {};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(read_start_ticks(static_cast<std::uint64_t>(child)));  // Not collected yet.
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(read_start_ticks(static_cast<std::uint64_t>(child)));
  EXPECT_FALSE(read_start_ticks(0));
}

}  // namespace
}  // namespace headroom::allocator
