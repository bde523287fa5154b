// SPDX-License-Identifier: Apache-2.0
// The file of past runs: what is written is read, several programs at once lose nothing, and what
// is damaged, foreign, newer or read-only is said and never lost.
#include "history/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "history/database.h"
#include "history/schema.h"

namespace headroom::history {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class History : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "headroom-history-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = (folder_ / "state/headroom/history.db").string();
  }
  void TearDown() override {
    fs::permissions(folder_, fs::perms::owner_all);
    fs::remove_all(folder_);
  }

  void write(const std::string& text) const {
    fs::create_directories(fs::path(path_).parent_path());
    std::ofstream(path_, std::ios::binary) << text;
  }
  std::string text_of(const fs::path& path) const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::size_t files_beside() const {
    const fs::directory_iterator all(fs::path(path_).parent_path());
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

  fs::path folder_;
  std::string path_;
};

estimate::PastRun some_run(const std::string& time) {
  estimate::PastRun run;
  run.time = time;
  run.headroom = "0.1.0";
  run.family = "qwen2";
  run.model = "Qwen/Qwen2.5-3B; DROP TABLE runs; --'\"";
  run.architecture = "0123456789abcdef";
  run.engine = "transformers";
  run.engine_version = "4.48";
  run.method = "lora";
  run.device = "MI50";
  run.job = {{"batch", {{"micro", 4}}}};
  run.predicted.allocated_bytes = std::uint64_t{1} << 44U;
  run.predicted.components = allocator::ByComponent{};
  (*run.predicted.components)[allocator::Component::logits] = 77;
  run.measured.allocated_bytes = 5;
  run.measured.device_bytes = 9;
  run.outcome = estimate::Outcome::stopped;
  return run;
}

TEST_F(History, nothing_is_read_where_nothing_was_written_and_nothing_is_made) {
  const auto found = read_runs(path_);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->runs.empty());
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(History, what_is_added_is_read_the_latest_first) {
  ASSERT_TRUE(add_run(path_, some_run("2026-11-20T10:00:00Z")));
  ASSERT_TRUE(add_run(path_, some_run("2026-11-22T10:00:00Z")));
  ASSERT_TRUE(add_run(path_, some_run("2026-11-21T10:00:00Z")));
  const auto found = read_runs(path_);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->runs.size(), 3U);
  EXPECT_EQ(found->runs[0].time, "2026-11-22T10:00:00Z");
  EXPECT_EQ(found->runs[2].time, "2026-11-20T10:00:00Z");
  const estimate::PastRun& run = found->runs[1];
  const estimate::PastRun given = some_run("2026-11-21T10:00:00Z");
  EXPECT_EQ(run.model, given.model);
  EXPECT_EQ(run.device, given.device);
  EXPECT_EQ(run.job, given.job);
  EXPECT_EQ(to_json(run.predicted), to_json(given.predicted));
  EXPECT_EQ(to_json(run.measured), to_json(given.measured));
  EXPECT_FALSE(run.measured.reserved_bytes);
  EXPECT_EQ(run.outcome, given.outcome);
}

TEST_F(History, is_for_its_owner_alone) {
  ASSERT_TRUE(add_run(path_, some_run("a")));
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  ASSERT_EQ(::stat(fs::path(path_).parent_path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  EXPECT_EQ(files_beside(), 1U);
}

TEST_F(History, several_writers_at_once_lose_nothing) {
  constexpr int writers = 8;
  constexpr int each = 5;
  std::vector<std::thread> threads;
  std::vector<int> failed(writers);
  for (int i = 0; i < writers; ++i) {
    threads.emplace_back([this, i, &failed] {
      for (int j = 0; j < each; ++j) failed[i] += add_run(path_, some_run("t")) ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(failed, testing::Each(0));
  const auto found = read_runs(path_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->runs.size(), static_cast<std::size_t>(writers * each));
}

TEST_F(History, a_damaged_file_is_moved_aside_and_a_new_one_begun) {
  const std::string damaged(5000, 'x');
  write(damaged);
  EXPECT_FALSE(read_runs(path_));
  const auto moved = add_run(path_, some_run("a"));
  ASSERT_TRUE(moved) << moved.error().message;
  ASSERT_TRUE(*moved);
  EXPECT_THAT(**moved, HasSubstr("history.db.damaged-"));
  EXPECT_EQ(text_of(**moved), damaged);
  EXPECT_EQ(read_runs(path_)->runs.size(), 1U);
}

TEST_F(History, a_file_damaged_within_is_moved_aside_too) {
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(add_run(path_, some_run("a")));
  std::string text = text_of(path_);
  for (std::size_t i = 150; i < text.size(); ++i) text[i] = static_cast<char>(i * 7);
  write(text);
  const auto moved = add_run(path_, some_run("b"));
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_TRUE(*moved);
  EXPECT_EQ(read_runs(path_)->runs.size(), 1U);
}

TEST_F(History, another_programs_database_is_left_alone) {
  write("");
  {
    auto database = Database::open(path_, Database::Access::read_write);
    ASSERT_TRUE(database);
    ASSERT_TRUE(database->run("CREATE TABLE bookmarks (url TEXT)"));
  }
  const std::string before = text_of(path_);
  const auto added = add_run(path_, some_run("a"));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Errc::unsupported);
  EXPECT_THAT(added.error().message, HasSubstr("another program's"));
  EXPECT_EQ(text_of(path_), before);
}

TEST_F(History, a_file_of_a_newer_version_is_left_alone) {
  ASSERT_TRUE(add_run(path_, some_run("a")));
  {
    auto database = Database::open(path_, Database::Access::read_write);
    ASSERT_TRUE(database->run("PRAGMA user_version = 99"));
  }
  const std::string before = text_of(path_);
  const auto added = add_run(path_, some_run("b"));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Errc::unsupported);
  EXPECT_THAT(added.error().message, HasSubstr("found 99"));
  const auto found = read_runs(path_);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Errc::unsupported);
  EXPECT_EQ(text_of(path_), before);
}

TEST_F(History, an_empty_file_is_brought_up_to_date) {
  write("");
  EXPECT_TRUE(read_runs(path_)->runs.empty());
  ASSERT_TRUE(add_run(path_, some_run("a")));
  auto database = Database::open(path_, Database::Access::read_only);
  ASSERT_TRUE(database);
  EXPECT_EQ(*read_version(*database), newest_version());
}

TEST_F(History, a_row_that_makes_no_sense_is_counted_and_left_out) {
  ASSERT_TRUE(add_run(path_, some_run("a")));
  ASSERT_TRUE(add_run(path_, some_run("b")));
  {
    auto database = Database::open(path_, Database::Access::read_write);
    ASSERT_TRUE(database->run("UPDATE runs SET job = '{' WHERE time = 'a'"));
  }
  const auto found = read_runs(path_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->runs.size(), 1U);
  EXPECT_EQ(found->unreadable, 1U);
}

TEST_F(History, a_folder_that_cannot_be_written_is_an_error_that_says_so) {
  if (::geteuid() == 0) {
    // root writes everywhere; a file where the folder should be stops root as well.
    std::ofstream(folder_ / "state") << "in the way";
  } else {
    fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
  }
  const auto added = add_run(path_, some_run("a"));
  ASSERT_FALSE(added);
  EXPECT_THAT(added.error().message, HasSubstr(path_));
}

TEST_F(History, is_brought_up_to_date_as_a_whole_or_not_at_all) {
  write("");
  auto database = Database::open(path_, Database::Access::read_write);
  ASSERT_TRUE(database);
  EXPECT_DEATH(static_cast<void>(migrate(*database, 0)), "required: a file is brought");
}

}  // namespace
}  // namespace headroom::history
