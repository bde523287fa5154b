// SPDX-License-Identifier: Apache-2.0
#include "history/commands.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "history/database.h"
#include "history/history.h"
#include "history/schema.h"

namespace headroom::history {
namespace {

namespace fs = std::filesystem;
using supervisor::PastCommand;

class Commands : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "headroom-commands-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = (folder_ / "history.db").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
  std::string path_;
};

PastCommand attempt_of(std::uint64_t number) {
  PastCommand past;
  past.time = "2026-11-22T10:00:00Z";
  past.headroom = "0.1.0";
  past.name = "python";
  past.command = {"python", "train.py", "--name=\xff", ""};
  past.memory = 3_GiB;
  past.devices = "0,1";
  past.attempt = number;
  past.settings.micro = 4;
  past.exit = {137, 9};
  past.out_of_memory = true;
  past.cause = "cgroup-memory-limit";
  past.duration_ms = 1234;
  past.peak.cgroup = 3_GiB;
  return past;
}

TEST_F(Commands, what_is_added_is_read_the_latest_first) {
  const auto added = add_commands(path_, {attempt_of(1), attempt_of(2)});
  ASSERT_TRUE(added) << added.error().message;
  const auto found = read_commands(path_);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->attempts.size(), 2U);
  const PastCommand& last = found->attempts.front();
  EXPECT_EQ(last.attempt, 2U);
  EXPECT_EQ(last.command.size(), 4U);
  EXPECT_EQ(last.command[1], "train.py");
  EXPECT_EQ(last.memory, 3_GiB);
  EXPECT_EQ(last.devices, "0,1");
  EXPECT_EQ(last.settings.micro, 4U);
  EXPECT_FALSE(last.settings.accumulate);
  EXPECT_EQ(last.exit, (supervisor::Exit{137, 9}));
  EXPECT_TRUE(last.out_of_memory);
  EXPECT_EQ(last.cause, "cgroup-memory-limit");
  EXPECT_EQ(last.duration_ms, 1234U);
  EXPECT_EQ(last.peak.cgroup, 3_GiB);
  EXPECT_FALSE(last.peak.vram);
}

TEST_F(Commands, a_file_without_the_table_is_brought_up_to_date_and_keeps_its_runs) {
  estimate::PastRun run;
  run.time = "2026-11-20T10:00:00Z";
  run.job = Json::object();
  ASSERT_TRUE(add_run(path_, run));
  {
    auto database = Database::open(path_, Database::Access::read_write);
    ASSERT_TRUE(database);
    ASSERT_TRUE(database->run("DROP TABLE commands"));
    ASSERT_TRUE(database->run("PRAGMA user_version = 1"));
  }
  const auto before = read_commands(path_);
  ASSERT_TRUE(before) << before.error().message;
  EXPECT_TRUE(before->attempts.empty());
  EXPECT_EQ(read_runs(path_)->runs.size(), 1U);
  ASSERT_TRUE(add_commands(path_, {attempt_of(1)}));
  EXPECT_EQ(read_commands(path_)->attempts.size(), 1U);
  EXPECT_EQ(read_runs(path_)->runs.size(), 1U);
}

TEST_F(Commands, nothing_is_read_where_nothing_was_written) {
  const auto found = read_commands(path_);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->attempts.empty());
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(Commands, a_row_that_makes_no_sense_is_counted_and_left_out) {
  ASSERT_TRUE(add_commands(path_, {attempt_of(1), attempt_of(2)}));
  {
    auto database = Database::open(path_, Database::Access::read_write);
    ASSERT_TRUE(database->run("UPDATE commands SET command = '{}' WHERE attempt = 1"));
  }
  const auto found = read_commands(path_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->attempts.size(), 1U);
  EXPECT_EQ(found->unreadable, 1U);
}

}  // namespace
}  // namespace headroom::history
