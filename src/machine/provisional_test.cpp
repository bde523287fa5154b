// SPDX-License-Identifier: Apache-2.0
// What is not finished, or not meant to stay, is gone whatever its owner dies of.
#include "machine/provisional.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "machine/clock.h"
#include "machine/each_name.h"
#include "machine/libarchive.h"
#include "machine/open_root.h"
#include "machine/remove_tree.h"
#include "machine/sweep.h"
#include "machine/temporary_folder.h"
#include "machine/tree_writer.h"

namespace headroom::machine {
namespace {

namespace fs = std::filesystem;

constexpr std::array deaths = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGABRT, SIGKILL};

void pause_ms(int ms) {
  ::poll(nullptr, 0, ms);
}

// A folder beside the ones that are tested, which TMPDIR names.
class Leftovers : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "leftovers-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    scratch_ = pattern;
    fs::create_directory(temporary());
    const char* before = std::getenv("TMPDIR");
    if (before != nullptr) before_ = before;
    ::setenv("TMPDIR", temporary().c_str(), 1);
  }
  void TearDown() override {
    if (before_) {
      ::setenv("TMPDIR", before_->c_str(), 1);
    } else {
      ::unsetenv("TMPDIR");
    }
    fs::remove_all(scratch_);
  }
  std::string at(const std::string& name) const { return scratch_ + "/" + name; }
  std::string temporary() const { return at("tmp"); }
  static std::size_t entries(const std::string& folder) {
    std::error_code ignored;
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder, ignored), fs::directory_iterator()));
  }

  // A child that does `work` until it is killed by `signal`, some time after it has left something
  // in `folder`. Returns what it died of.
  static int die_at_work(int signal, const std::string& folder, int moment_ms,
                         const std::function<void()>& work) {
    const std::size_t before = entries(folder);  // Not after the fork: the child may be faster.
    const pid_t child = ::fork();
    if (child == 0) {
      const rlimit no_core{0, 0};
      ::setrlimit(RLIMIT_CORE, &no_core);
      ::signal(signal, SIG_DFL);
      for (;;) work();
    }
    int status = 0;
    while (entries(folder) == before && ::waitpid(child, &status, WNOHANG) == 0) pause_ms(1);
    pause_ms(moment_ms);
    ::kill(child, signal);
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -1;
  }

  // Whether only so many are left before long.
  static bool comes_down_to(std::size_t count, const std::string& folder) {
    constexpr std::uint64_t patience_ns = 60'000'000'000;
    for (const std::uint64_t start = monotonic_ns(); monotonic_ns() - start < patience_ns;) {
      if (entries(folder) == count) return true;
      pause_ms(20);
    }
    return false;
  }

 private:
  std::string scratch_;
  std::optional<std::string> before_;
};

TEST_F(Leftovers, an_unpacked_archive_is_gone_whatever_its_reader_dies_of) {
  if (!Libarchive::load()) GTEST_SKIP() << "libarchive is not installed";
  {
    const auto writer = *make_archive_writer(at("large.tar.zst"));
    for (int i = 0; i < 4'000; ++i)
      ASSERT_TRUE(writer->file(fmt::format("sys/{}/{}/{}", i % 7, i % 300, i), "1\n").has_value());
    ASSERT_TRUE(writer->finish().has_value());
  }
  std::mt19937 moments(1);
  for (const int signal : deaths) {
    for (int round = 0; round < 2; ++round) {
      const int moment_ms = static_cast<int>(moments() % 200);
      const int died_of = die_at_work(signal, temporary(), moment_ms,
                                      [&] { (void)open_root(at("large.tar.zst")); });
      EXPECT_EQ(died_of, signal);
      EXPECT_TRUE(comes_down_to(0, temporary())) << "signal " << signal << " after " << moment_ms;
    }
  }
}

TEST_F(Leftovers, a_capture_that_is_not_finished_is_gone_whatever_its_writer_dies_of) {
  fs::create_directory(at("work"));
  fs::create_directory(at("work/there"));
  const auto write = [](const Result<std::unique_ptr<TreeWriter>>& writer) {
    for (int i = 0; writer && i < 1'000'000; ++i)
      (void)(*writer)->file(fmt::format("sys/{}/{}", i % 7, i), "1\n");
  };
  for (const int signal : deaths) {
    EXPECT_EQ(
        die_at_work(signal, at("work"), 20, [&] { write(make_folder_writer(at("work/new"))); }),
        signal);
    EXPECT_TRUE(comes_down_to(1, at("work"))) << "signal " << signal;
    EXPECT_EQ(die_at_work(signal, at("work/there"), 20,
                          [&] { write(make_folder_writer(at("work/there"))); }),
              signal);
    EXPECT_TRUE(comes_down_to(0, at("work/there"))) << "signal " << signal;
    if (!Libarchive::load()) continue;
    EXPECT_EQ(die_at_work(signal, at("work"), 20,
                          [&] { write(make_archive_writer(at("work/new.tar.zst"))); }),
              signal);
    EXPECT_TRUE(comes_down_to(1, at("work"))) << "signal " << signal;
  }
}

TEST_F(Leftovers, what_comes_meanwhile_is_not_overwritten_by_what_is_finished) {
  const auto folder = *make_folder_writer(at("out"));
  ASSERT_TRUE(folder->file("a", "mine").has_value());
  fs::create_directory(at("out"));
  std::ofstream(at("out/a")) << "theirs";
  EXPECT_FALSE(folder->finish().has_value());
  fs::create_directory(at("empty"));
  const auto into = *make_folder_writer(at("empty"));
  ASSERT_TRUE(into->file("a", "mine").has_value());
  ASSERT_TRUE(into->file("b", "mine").has_value());
  std::ofstream(at("empty/b")) << "theirs";
  EXPECT_FALSE(into->finish().has_value());
  EXPECT_FALSE(fs::exists(at("empty/a")));
  EXPECT_EQ(fs::file_size(at("empty/b")), 6U);
  if (!Libarchive::load()) return;
  const auto archive = *make_archive_writer(at("out.tar.zst"));
  std::ofstream(at("out.tar.zst")) << "theirs";
  EXPECT_FALSE(archive->finish().has_value());
  EXPECT_EQ(fs::file_size(at("out.tar.zst")), 6U);
  EXPECT_EQ(fs::file_size(at("out/a")), 6U);
}

// Deeper than there are descriptors.
TEST_F(Leftovers, a_tree_of_any_depth_is_removed) {
  {
    const auto folder = TemporaryFolder::make();
    ASSERT_TRUE(folder.has_value());
    Descriptor at(::open(folder->path().c_str(), O_RDONLY | O_DIRECTORY));
    for (int depth = 0; depth < 1200; ++depth) {
      ASSERT_EQ(::mkdirat(at.get(), "a", 0755), 0);
      at = Descriptor(::openat(at.get(), "a", O_RDONLY | O_DIRECTORY));
    }
    ASSERT_TRUE((*make_writer_into(*folder))->file(".up-0/b/c", "x").has_value());
    EXPECT_EQ(entries(temporary()), 1U);
  }
  EXPECT_EQ(entries(temporary()), 0U);
}

TEST_F(Leftovers, links_are_removed_and_not_followed) {
  fs::create_directory(at("elsewhere"));
  std::ofstream(at("elsewhere/file")) << "theirs";
  {
    const auto folder = TemporaryFolder::make();
    fs::create_directories(folder->path() + "/a/b");
    fs::create_directory_symlink(at("elsewhere"), folder->path() + "/link");
    fs::create_directory_symlink(at("elsewhere"), folder->path() + "/a/b/link");
  }
  EXPECT_EQ(entries(temporary()), 0U);
  EXPECT_TRUE(fs::exists(at("elsewhere/file")));
}

TEST_F(Leftovers, what_a_dead_owner_left_is_swept_and_nothing_else) {
  const auto make = [&](const std::string& name, fs::perms mode) {
    fs::create_directories(temporary() + "/" + name + "/in/it");
    fs::permissions(temporary() + "/" + name, mode);
  };
  constexpr fs::perms all = fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec;
  make("headroom-folder-dead", fs::perms::owner_all);
  make("headroom-folder-shown", all);
  make("headroom-other", fs::perms::owner_all);
  fs::create_directory(at("private"));
  fs::permissions(at("private"), fs::perms::owner_all);
  fs::create_directory_symlink(at("private"), temporary() + "/headroom-folder-link");
  std::ofstream(temporary() + "/headroom-folder-file") << "x";
  make("headroom-folder-alive", fs::perms::owner_all);
  const Descriptor owner(
      ::open((temporary() + "/headroom-folder-alive").c_str(), O_RDONLY | O_DIRECTORY));
  ASSERT_EQ(::flock(owner.get(), LOCK_EX), 0);
  if (::geteuid() == 0) {
    make("headroom-folder-theirs", fs::perms::owner_all);
    ASSERT_EQ(::chown((temporary() + "/headroom-folder-theirs").c_str(), 65534, 65534), 0);
  }
  const std::size_t before = entries(temporary());
  { ASSERT_TRUE(TemporaryFolder::make().has_value()); }
  EXPECT_EQ(entries(temporary()), before - 1);
  EXPECT_FALSE(fs::exists(temporary() + "/headroom-folder-dead"));
  EXPECT_TRUE(fs::exists(at("private")));
}

TEST_F(Leftovers, a_living_owners_folder_is_not_swept) {
  const auto first = TemporaryFolder::make();
  const auto second = TemporaryFolder::make();
  { ASSERT_TRUE(TemporaryFolder::make().has_value()); }
  EXPECT_TRUE(fs::exists(first->path()) && fs::exists(second->path()));
}

TEST_F(Leftovers, without_a_process_to_be_had_the_owner_removes) {
  fs::permissions(temporary(), fs::perms::all);
  fs::permissions(at(""), fs::perms::all);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_NPROC, &none);
    const pid_t other = ::fork();
    if (other == 0) ::_exit(0);
    if (other > 0) ::_exit(2);  // This machine does not count.
    {
      const auto folder = TemporaryFolder::make();
      if (!folder) ::_exit(1);
      fs::create_directories(folder->path() + "/a/b");
    }
    ::_exit(entries(temporary()) == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2) GTEST_SKIP() << "fork does not fail here";
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// A child that was forked for something else has a copy of every descriptor.
TEST_F(Leftovers, a_child_that_lives_on_keeps_nobody_waiting) {
  auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.has_value());
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  folder = Error{};
  EXPECT_EQ(entries(temporary()), 0U);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace headroom::machine
