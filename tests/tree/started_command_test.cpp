// SPDX-License-Identifier: Apache-2.0
// How a command begins: where it is found, what it gets of ours, and what it does not.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "machine/descriptor.h"
#include "machine/tree/process_tree.h"
#include "machine/tree/signals.h"
#include "support/scratch.h"
#include "tree/started_tree.h"

namespace headroom::machine {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(StartedCommand, missing_program_is_not_found) {
  const auto tree = ProcessTree::start(options_of({"there-is-no-such-program"}));
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().code, Errc::not_found);
}

TEST(StartedCommand, what_cannot_be_executed_is_no_permission_or_invalid) {
  EXPECT_EQ(ProcessTree::start(options_of({"/etc/passwd"})).error().code, Errc::no_permission);
  EXPECT_EQ(ProcessTree::start(options_of({"/etc"})).error().code, Errc::no_permission);
  const testing::Scratch scratch;
  const std::string script = scratch.string() + "/script";
  std::ofstream(script) << "#!/no/such/interpreter\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  EXPECT_EQ(ProcessTree::start(options_of({script})).error().code, Errc::invalid);
}

TEST(StartedCommand, path_of_the_given_environment_counts) {
  const testing::Scratch scratch;
  const std::string script = scratch.string() + "/only-here";
  std::ofstream(script) << "echo script without a first line: $1\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  auto options = options_of({"only-here", "word"});
  EXPECT_FALSE(ProcessTree::start(options));
  options.environment = {"PATH=/no/such/folder:" + scratch.string() + ":/bin:/usr/bin"};
  EXPECT_EQ(output_of(options), "script without a first line: word\n");
}

TEST(StartedCommand, missing_folder_is_said_and_nothing_runs) {
  auto options = options_of({"true"});
  options.folder = "/no/such/folder";
  const auto tree = ProcessTree::start(options);
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().code, Errc::invalid);
  EXPECT_THAT(tree.error().message, HasSubstr("/no/such/folder"));
}

TEST(StartedCommand, command_starts_in_its_folder) {
  const testing::Scratch scratch;
  auto options = options_of({"/bin/pwd"});
  options.folder = std::filesystem::canonical(scratch.path()).string();
  EXPECT_EQ(output_of(options), options.folder + "\n");
}

TEST(StartedCommand, command_gets_three_descriptors_and_none_of_ours) {
  // What we inherited without close-on-exec passes through, as it would without us.
  const Descriptor passed(::open("/dev/null", O_RDONLY));
  const std::string listing = output_of(options_of({"ls", "-l", "/proc/self/fd"}));
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename().string());
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags < 0 || fd <= 2 || (flags & FD_CLOEXEC) == 0) continue;
    const std::string leads_to = std::filesystem::read_symlink(entry.path()).string();
    EXPECT_THAT(listing, Not(HasSubstr(fmt::format(" {} -> {}\n", fd, leads_to))));
  }
  EXPECT_THAT(listing, HasSubstr(fmt::format(" {} -> /dev/null", passed.get())));
  EXPECT_THAT(listing, Not(HasSubstr("socket:")));
}

TEST(StartedCommand, stream_that_is_not_open_is_none_there) {
  auto options = options_of({"sh", "-c", "ls -l /proc/$$/fd/0 2>&1"});
  options.input = 1000;
  EXPECT_THAT(output_of(options), HasSubstr("No such file"));
}

TEST(StartedCommand, signals_that_we_hold_back_reach_the_command) {
  const auto signals = Signals::take();
  ASSERT_TRUE(signals);
  auto options = options_of({"grep", "SigBlk", "/proc/self/status"});
  EXPECT_EQ(output_of(options), "SigBlk:\t0000000000000000\n") << "without being told";
  options.signals = &*signals;
  EXPECT_EQ(output_of(options), "SigBlk:\t0000000000000000\n");
}

TEST(StartedCommand, ignored_sigchld_loses_no_exit) {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  {
    const auto tree = must_start(nasty({"exit", "6"}));
    EXPECT_EQ(wait_for_exit(*tree).code, 6);
  }
  ::signal(SIGCHLD, before);
}

TEST(StartedCommand, command_stays_in_our_group_and_session) {
  const std::string ids = output_of(options_of({"sh", "-c", "cut -d' ' -f5,6 /proc/$$/stat"}));
  EXPECT_EQ(ids, fmt::format("{} {}\n", ::getpgrp(), ::getsid(0)));
}

TEST(StartedCommand, daemons_are_ended_when_we_are_killed) {
  std::array<int, 2> line{};
  ASSERT_EQ(::pipe2(line.data(), O_CLOEXEC), 0);
  const Descriptor reading(line[0]);
  Descriptor writing(line[1]);
  const pid_t supervisor = ::fork();
  if (supervisor == 0) {
    const auto tree = must_start(nasty({"daemon", "group", "deaf", "wait"}));
    wait_for_members(*tree, 3);
    for (const TreeMember& member : tree->members())
      (void)!::write(writing.get(), &member.pid, sizeof member.pid);
    for (;;) ::pause();
  }
  std::array<std::uint64_t, 3> pids{};
  for (std::uint64_t& pid : pids) {
    ASSERT_EQ(::read(reading.get(), &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
    ASSERT_TRUE(is_alive(pid));
  }
  ::kill(supervisor, SIGKILL);
  ::waitpid(supervisor, nullptr, 0);
  for (const std::uint64_t pid : pids) {
    for (int i = 0; i < 6000 && is_alive(pid); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_FALSE(is_alive(pid)) << pid;
  }
}

TEST(StartedCommand, command_gets_sigterm_when_we_are_killed) {
  std::array<int, 2> line{};
  ASSERT_EQ(::pipe2(line.data(), O_CLOEXEC), 0);
  const Descriptor reading(line[0]);
  Descriptor writing(line[1]);
  const pid_t supervisor = ::fork();
  if (supervisor == 0) {
    const auto tree = ProcessTree::start(nasty({"wait"}));
    const std::uint64_t pid = tree ? (*tree)->pid() : 0;
    (void)!::write(writing.get(), &pid, sizeof pid);
    for (;;) ::pause();
  }
  std::uint64_t pid = 0;
  ASSERT_EQ(::read(reading.get(), &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
  ASSERT_TRUE(is_alive(pid));
  ::kill(supervisor, SIGKILL);
  ::waitpid(supervisor, nullptr, 0);
  for (int i = 0; i < 6000 && is_alive(pid); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(is_alive(pid));
}

}  // namespace
}  // namespace headroom::machine
