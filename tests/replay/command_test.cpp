// SPDX-License-Identifier: Apache-2.0
// `headroom replay` as a program: what it prints and how it exits.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <nlohmann/json.hpp>

#include "allocator/files/flight_recorder.h"
#include "allocator/snapshot/snapshot_reader.h"
#include "machine/user_files.h"

namespace headroom {
namespace {

struct Outcome {
  int exit_code;
  std::string text;  // What it said, on both streams.
};

class ReplayCommand : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& text) const {
    const std::filesystem::path path = folder_ / "job.trace";
    std::ofstream(path) << text;
    return path;
  }

  static Outcome run(const std::string& arguments) {
    std::FILE* pipe =
        ::popen((std::string(HEADROOM_BINARY) + " replay " + arguments + " 2>&1").c_str(), "r");
    std::string text;
    std::array<char, 4096> buffer{};
    while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) text += buffer.data();
    const int status = ::pclose(pipe);
    return {WEXITSTATUS(status), text};
  }

  // Two 20 MiB segments of PyTorch's, each pinned by 2 MiB; then 20 MiB are asked for.
  static constexpr const char* pinned =
      "# two pinned segments\n"
      "a 1 2097152\na 2 18874368\na 3 2097152\na 4 18874368\nf 2\nf 4\na 5 20971520\n";

  std::filesystem::path folder_;
};

TEST_F(ReplayCommand, shows_who_finishes_and_who_does_not) {
  const Outcome shown =
      run(write(pinned) + " --policy torch --policy headroom --capacity 40MiB --min-capacity");
  EXPECT_EQ(shown.exit_code, 1) << shown.text;
  EXPECT_NE(shown.text.find("out of memory at 7"), std::string::npos) << shown.text;
  EXPECT_NE(shown.text.find("completed"), std::string::npos);
  EXPECT_NE(shown.text.find("a request of 20.0 MiB: 4.0 MiB were live"), std::string::npos);
}

TEST_F(ReplayCommand, json_has_every_key_and_the_reason_for_each_null) {
  const Outcome shown = run(write(pinned) + " --policy torch --capacity 40MiB --json");
  EXPECT_EQ(shown.exit_code, 1);
  const auto json = nlohmann::json::parse(shown.text);
  EXPECT_EQ(json["schema"], "headroom.replay/1");
  EXPECT_EQ(json["policy"], "torch");
  EXPECT_EQ(json["completed"], false);
  EXPECT_EQ(json["failed_at"], 7);
  EXPECT_EQ(json["events"], 7);
  EXPECT_EQ(json["peak_live_bytes"], 40 << 20);
  EXPECT_EQ(json["peak_reserved_bytes"], 40 << 20);
  EXPECT_TRUE(json["min_capacity_bytes"].is_null());
  EXPECT_TRUE(json["missing"].contains("/min_capacity_bytes"));
}

TEST_F(ReplayCommand, headroom_is_the_default_policy) {
  const Outcome shown = run(write(pinned) + " --capacity 40MiB --min-capacity --json");
  EXPECT_EQ(shown.exit_code, 0) << shown.text;
  const auto json = nlohmann::json::parse(shown.text);
  EXPECT_EQ(json["policy"], "headroom");
  EXPECT_TRUE(json["failed_at"].is_null());
  EXPECT_EQ(json["min_capacity_bytes"], 40 << 20);
  // The trace is too short to repeat.
  EXPECT_TRUE(json["steady_repairs"].is_null());
  EXPECT_EQ(json["missing"].size(), 2U);
}

TEST_F(ReplayCommand, shows_what_more_memory_buys) {
  const std::string trace = write(pinned);
  const Outcome shown = run(trace + " --policy torch --policy headroom --calls-per-event");
  EXPECT_EQ(shown.exit_code, 0) << shown.text;
  EXPECT_NE(shown.text.find("Device calls per 1,000 events, by capacity.\n"), std::string::npos)
      << shown.text;
  EXPECT_NE(shown.text.find("40.0 MiB     +0.0 %  out of memory"), std::string::npos) << shown.text;
  EXPECT_EQ(run(trace).text.find("by capacity"), std::string::npos);
  const auto json =
      nlohmann::json::parse(run(trace + " --policy torch --calls-per-event --json").text);
  const auto& curve = json["calls_per_event"];
  EXPECT_EQ(curve.front()["completed"], false);
  EXPECT_FALSE(curve.front().contains("device_calls_per_1000"));
  EXPECT_EQ(curve.back()["capacity_bytes"], 80 << 20);
  // Three allocations in seven events.
  EXPECT_NEAR(curve.back()["device_calls_per_1000"].get<double>(), 3000.0 / 7, 1e-9);
}

TEST_F(ReplayCommand, a_mistake_in_the_trace_names_its_line) {
  const Outcome shown = run(write("a 1 10\nf 2\n"));
  EXPECT_EQ(shown.exit_code, 2);
  EXPECT_NE(shown.text.find("line 2: object 2 is freed, but it is not live"), std::string::npos)
      << shown.text;
}

TEST_F(ReplayCommand, wrong_usage_and_unreadable_files_differ) {
  EXPECT_EQ(run((folder_ / "absent").string()).exit_code, 3);
  EXPECT_EQ(run("").exit_code, 2);
  const Outcome policy = run(write(pinned) + " --policy tourch");
  EXPECT_EQ(policy.exit_code, 2);
  EXPECT_NE(policy.text.find("next: --policy torch"), std::string::npos) << policy.text;
  EXPECT_EQ(run(write(pinned) + " --capacity many").exit_code, 2);
}

TEST_F(ReplayCommand, says_what_happened_and_what_to_do) {
  const std::string trace = write(pinned);
  const Outcome one = run(trace + " --policy torch --capacity 40MiB");
  EXPECT_NE(one.text.find("36.0 MiB of the capacity was not in use, which would be enough"),
            std::string::npos)
      << one.text;
  EXPECT_NE(one.text.find("next: headroom replay " + trace +
                          " --policy torch --policy headroom --min-capacity"),
            std::string::npos)
      << one.text;
  const Outcome both = run(trace + " --policy torch --policy headroom --capacity 40MiB");
  EXPECT_NE(both.text.find("It finishes in the same 40.0 MiB with headroom."), std::string::npos);
  const Outcome none = run(trace + " --capacity 20MiB");
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_NE(none.text.find("No allocator can finish it in 20.0 MiB: 40.0 MiB are live at once."),
            std::string::npos)
      << none.text;
  EXPECT_EQ(none.text.find("-50.0 %"), std::string::npos) << none.text;
}

TEST_F(ReplayCommand, never_writes_over_what_it_reads) {
  const std::string trace = write(pinned);
  for (const std::string option : {" --html ", " --export "}) {
    const Outcome shown = run(trace + option + trace);
    EXPECT_EQ(shown.exit_code, 2) << shown.text;
    EXPECT_NE(shown.text.find("expected a file of its own"), std::string::npos) << shown.text;
  }
  const std::string both = folder_ / "both";
  EXPECT_EQ(run(trace + " --html " + both + " --export " + both).exit_code, 2);
  std::ifstream kept(trace);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(kept), {}), pinned);
}

TEST_F(ReplayCommand, an_option_that_is_given_is_not_left_out) {
  const std::string trace = write(pinned);
  for (const std::string option : {" --capacity ''", " --html ''", " --export ''"})
    EXPECT_EQ(run(trace + option).exit_code, 2) << option;
}

TEST_F(ReplayCommand, quotes_of_a_file_cannot_steer_the_terminal) {
  for (const std::string& text : {std::string("\x1b[31mred\n"), std::string("\xff\xfe 1 2\n"),
                                  std::string("a\0b 1 2\n", 8)}) {
    const Outcome shown = run(write(text));
    EXPECT_EQ(shown.exit_code, 2) << shown.text;
    EXPECT_EQ(shown.text.find_first_of(std::string_view("\x1b\xff\0", 3)), std::string::npos)
        << shown.text;
  }
}

TEST_F(ReplayCommand, nothing_in_the_trace_is_said) {
  const Outcome shown = run(write("# nothing\n"));
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_NE(shown.text.find("nothing was replayed"), std::string::npos) << shown.text;
}

TEST_F(ReplayCommand, reads_a_flight_recording_with_the_capacity_that_the_job_had) {
  using namespace allocator;
  const std::string path = folder_ / "job.flight";
  {
    const auto recorder =
        FlightRecorder::create(path, {.capacity_bytes = 8 << 20, .device = "Radeon RX 7900 XT"});
    ASSERT_TRUE(recorder) << recorder.error().message;
    FlightShard& shard = (*recorder)->shard(0);
    for (Address address : {2 << 20, 6 << 20})
      shard.note({.address = address, .bytes = 3 << 20, .requested = 3 << 20});
    shard.note({.kind = FlightKind::free, .address = 2 << 20, .bytes = 3 << 20});
    shard.note({.kind = FlightKind::refuse, .bytes = 6 << 20});
  }
  const Outcome shown = run(path + " --policy headroom --policy exact");
  EXPECT_EQ(shown.exit_code, 1) << shown.text;
  EXPECT_NE(shown.text.find("on Radeon RX 7900 XT, which ended in order; 4 events"),
            std::string::npos)
      << shown.text;
  EXPECT_NE(shown.text.find("capacity 8.0 MiB"), std::string::npos) << shown.text;
  const Outcome enough = run(path + " --capacity 16MiB --json");
  EXPECT_EQ(enough.exit_code, 0) << enough.text;
  const auto json = nlohmann::json::parse(enough.text);
  EXPECT_EQ(json["recording"]["closed"], true);
  EXPECT_EQ(json["events"], 4);
  EXPECT_EQ(json["recording"]["device_events"], "all");
}

TEST_F(ReplayCommand, exports_a_flight_recording_as_it_was_or_what_a_policy_makes_of_it) {
  using namespace allocator;
  const std::string path = folder_ / "job.flight";
  const std::string snapshot = folder_ / "job.pickle";
  constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
  {
    const auto recorder = FlightRecorder::create(path, {.capacity_bytes = 64 * mib});
    ASSERT_TRUE(recorder) << recorder.error().message;
    FlightShard& device = (*recorder)->device_shard();
    device.note({.kind = FlightKind::map, .stream = 3, .address = 32 * mib, .bytes = 12 * mib});
    device.note({.kind = FlightKind::segment_allocate, .address = 64 * mib, .bytes = 4 * mib});
    (*recorder)->shard(0).note({.address = 34 * mib, .bytes = 3 * mib, .requested = 3 * mib - 7});
    device.note({.kind = FlightKind::unmap, .stream = 3, .address = 42 * mib, .bytes = 2 * mib});
  }
  const auto exported = [&](const std::string& options) {
    EXPECT_EQ(run(path + " --export " + snapshot + options).exit_code, 0);
    const auto bytes = machine::read_file(snapshot);
    EXPECT_TRUE(bytes);
    auto read = read_snapshot(*bytes);
    EXPECT_TRUE(read) << read.error().message;
    return read->snapshot;
  };
  const Snapshot as_it_was = exported("");
  ASSERT_EQ(as_it_was.segments.size(), 2U);
  EXPECT_EQ(as_it_was.segments[0].address, 32 * mib);
  EXPECT_EQ(as_it_was.segments[0].total_bytes, 10 * mib);
  EXPECT_EQ(as_it_was.segments[0].stream, 3U);
  EXPECT_EQ(as_it_was.segments[0].blocks.size(), 3U);
  EXPECT_FALSE(as_it_was.segments[1].expandable);
  ASSERT_EQ(as_it_was.events.size(), 4U);
  EXPECT_EQ(as_it_was.events[0].action, SnapshotAction::segment_map);
  EXPECT_EQ(as_it_was.events[1].action, SnapshotAction::segment_alloc);
  EXPECT_EQ(as_it_was.events[2].action, SnapshotAction::alloc);
  EXPECT_EQ(as_it_was.events[3].action, SnapshotAction::segment_unmap);
  const Snapshot by_policy = exported(" --policy headroom");
  ASSERT_EQ(by_policy.segments.size(), 1U);
  EXPECT_EQ(by_policy.segments[0].total_bytes, 4 * mib);
}

}  // namespace
}  // namespace headroom
