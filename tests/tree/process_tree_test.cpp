// SPDX-License-Identifier: Apache-2.0
// Real trees of processes, held together by each means that this system has.
#include "machine/tree/process_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "machine/tree/group_folder.h"
#include "machine/tree/group_places.h"
#include "tree/started_tree.h"

namespace headroom::machine {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ProcessTreeBy : public ::testing::TestWithParam<Means> {
 protected:
  void SetUp() override {
    const auto tree = start_tree(options_of({"true"}), GetParam());
    ASSERT_TRUE(tree) << tree.error().message;
    const LimitKind kind = (*tree)->limit_kind();
    const bool is_there =
        GetParam() == Means::processes ||
        (GetParam() == Means::holding_group && (*tree)->limit_remark().empty()) ||
        (GetParam() == Means::cgroup_v2 && kind == LimitKind::cgroup_v2) ||
        (GetParam() == Means::systemd_scope && kind == LimitKind::systemd_scope) ||
        (GetParam() == Means::cgroup_v1 && kind == LimitKind::cgroup_v1);
    if (!is_there) GTEST_SKIP() << (*tree)->limit_remark();
  }
  std::unique_ptr<ProcessTree> start(const TreeOptions& options) {
    return must_start(options, GetParam());
  }
};

std::string name_of(const ::testing::TestParamInfo<Means>& one) {
  constexpr std::array<const char*, 6> names{"strongest",     "cgroup_v2",     "cgroup_v1",
                                             "systemd_scope", "holding_group", "processes"};
  return names.at(static_cast<std::size_t>(one.param));
}

INSTANTIATE_TEST_SUITE_P(Means, ProcessTreeBy,
                         ::testing::Values(Means::cgroup_v2, Means::cgroup_v1, Means::systemd_scope,
                                           Means::holding_group, Means::processes),
                         name_of);

TEST_P(ProcessTreeBy, exit_code_arrives) {
  const auto tree = start(nasty({"exit", "37"}));
  const TreeExit exit = wait_for_exit(*tree);
  EXPECT_EQ(exit.code, 37);
  EXPECT_FALSE(exit.signal);
  EXPECT_EQ(tree->main_exit()->code, 37) << "it is told as often as it is asked for";
}

TEST_P(ProcessTreeBy, signal_that_ended_it_arrives) {
  const auto tree = start(nasty({"abort"}));
  const TreeExit exit = wait_for_exit(*tree);
  EXPECT_EQ(exit.code, 134);
  EXPECT_EQ(exit.signal, SIGABRT);
}

TEST_P(ProcessTreeBy, daemons_and_other_groups_are_members_and_end) {
  const auto tree = start(nasty({"daemon", "daemon", "group", "stopped", "deaf", "exit", "5"}));
  EXPECT_EQ(wait_for_exit(*tree).code, 5);
  wait_for_members(*tree, 4);
  const auto members = tree->members();
  EXPECT_THAT(members, Contains(Field(&TreeMember::command, HasSubstr("nasty_program daemon"))));
  EXPECT_TRUE(tree->send_all(SIGKILL));
  EXPECT_THAT(tree->members(), IsEmpty());
  for (const TreeMember& member : members) EXPECT_FALSE(is_alive(member.pid)) << member.pid;
  EXPECT_EQ(tree->main_exit()->code, 5);
}

TEST_P(ProcessTreeBy, nobody_outlives_the_tree) {
  std::vector<TreeMember> members;
  {
    const auto tree = start(nasty({"daemon", "group", "deaf", "wait"}));
    wait_for_members(*tree, 3);
    members = tree->members();
  }
  for (const TreeMember& member : members) EXPECT_FALSE(is_alive(member.pid)) << member.pid;
}

TEST_P(ProcessTreeBy, sigterm_reaches_all_that_hear_it_and_stopped_ones) {
  const auto tree = start(nasty({"daemon", "group", "stopped", "wait"}));
  wait_for_members(*tree, 4);
  EXPECT_TRUE(tree->send_all(SIGTERM));
  EXPECT_EQ(wait_for_exit(*tree).signal, SIGTERM);
  wait_for_members(*tree, 1);  // The daemon is deaf.
}

TEST_P(ProcessTreeBy, a_signal_to_the_command_reaches_it_alone) {
  const auto tree = start(nasty({"group", "wait"}));
  wait_for_members(*tree, 2);
  EXPECT_TRUE(tree->send(SIGUSR1));
  EXPECT_EQ(wait_for_exit(*tree).signal, SIGUSR1);
  EXPECT_THAT(tree->members(), SizeIs(1));
  EXPECT_EQ(tree->send(SIGUSR1).error().code, Errc::not_found);
}

TEST_P(ProcessTreeBy, processor_time_of_ended_ones_counts) {
  const auto tree = start(options_of(
      {"sh", "-c", fmt::format("({} spin_ms 300 &) ; sleep 0.2; exit 0", HEADROOM_NASTY_PROGRAM)}));
  wait_for_exit(*tree);
  wait_for_members(*tree, 0);
  EXPECT_GE(tree->use().processor_ms, 250U);
}

TEST_P(ProcessTreeBy, memory_of_all_is_added_up) {
  const auto tree =
      start(options_of({"sh", "-c",
                        fmt::format("{0} fill 30000000 wait & {0} fill 30000000 wait & wait",
                                    HEADROOM_NASTY_PROGRAM)}));
  std::uint64_t rss = 0;
  for (int i = 0; i < 6000 && rss < 60'000'000; ++i) {
    rss = tree->use().rss->value;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_GE(rss, 60'000'000U);
  EXPECT_LT(rss, 120'000'000U);
  EXPECT_EQ(tree->use().processes, 3U);
}

TEST_P(ProcessTreeBy, limit_is_enforced_and_counted_where_the_kernel_does_it) {
  const bool has_limit = GetParam() != Means::processes && GetParam() != Means::holding_group;
  if (!has_limit) GTEST_SKIP() << "the kernel does not limit memory there";
  auto options = nasty({"fill", "200000000", "exit", "0"});
  options.memory = Bytes{50'000'000};
  const auto tree = start(options);
  EXPECT_EQ(wait_for_exit(*tree).signal, SIGKILL);
  EXPECT_EQ(tree->use().kernel_kills, 1U);
  EXPECT_LE(tree->use().group_peak->value, 50'000'000U);
}

// systemd removes a scope soon after its last process has ended.
TEST_P(ProcessTreeBy, what_the_kernel_counted_is_known_long_after_the_end) {
  const bool has_limit = GetParam() != Means::processes && GetParam() != Means::holding_group;
  if (!has_limit) GTEST_SKIP() << "the kernel does not limit memory there";
  auto options = nasty({"fill", "200000000", "exit", "0"});
  options.memory = Bytes{50'000'000};
  const auto tree = start(options);
  const LimitKind kind = tree->limit_kind();
  EXPECT_EQ(wait_for_exit(*tree).signal, SIGKILL);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_THAT(tree->members(), IsEmpty());
  EXPECT_EQ(tree->limit_kind(), kind);
  EXPECT_EQ(tree->use().kernel_kills, 1U);
  EXPECT_GE(tree->use().group_peak->value, 49'000'000U);
  EXPECT_TRUE(tree->send_all(SIGKILL));
  EXPECT_EQ(tree->use().kernel_kills, 1U);
}

TEST_P(ProcessTreeBy, a_child_of_ours_is_left_alone) {
  const pid_t ours = ::fork();
  if (ours == 0) {
    for (;;) ::pause();
  }
  {
    const auto tree = start(nasty({"daemon", "exit", "0"}));
    wait_for_exit(*tree);
    wait_for_members(*tree, 1);
  }
  EXPECT_TRUE(is_alive(static_cast<std::uint64_t>(ours)));
  ::kill(ours, SIGKILL);
  int status = 0;
  EXPECT_EQ(::waitpid(ours, &status, 0), ours) << "nobody else took its end";
}

TEST_P(ProcessTreeBy, two_trees_do_not_know_each_other) {
  const auto one = start(nasty({"daemon", "group", "group", "wait"}));
  const auto other = start(nasty({"daemon", "exit", "4"}));
  wait_for_members(*one, 4);
  wait_for_exit(*other);
  wait_for_members(*other, 1);
  EXPECT_TRUE(other->send_all(SIGKILL));
  EXPECT_THAT(one->members(), SizeIs(4));
}

// Within a group of its own that allows few processes, so that the machine survives a failure.
class ForkBomb : public ProcessTreeBy {};
INSTANTIATE_TEST_SUITE_P(Means, ForkBomb,
                         ::testing::Values(Means::cgroup_v1, Means::holding_group,
                                           Means::processes),
                         name_of);

TEST_P(ForkBomb, is_ended) {
  const auto places = read_group_places();
  const auto pids = places.by_controller.find("pids");
  if (pids == places.by_controller.end()) GTEST_SKIP() << "no hierarchy limits processes here";
  auto group = GroupFolder::make(pids->second, make_group_name());
  if (!group) GTEST_SKIP() << group.error().message;
  constexpr std::uint64_t most = 150;
  ASSERT_TRUE(group->write("pids.max", std::to_string(most)));
  const auto tree = start(options_of({"sh", "-c",
                                      fmt::format("echo $$ > {}/cgroup.procs && exec {} bomb",
                                                  group->path(), HEADROOM_NASTY_PROGRAM)}));
  for (int i = 0; i < 1000 && group->processes().size() < most; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(tree->send_all(SIGKILL));
  EXPECT_THAT(tree->members(), IsEmpty());
}

TEST(ProcessTree, groups_of_killed_ones_are_swept_and_others_stay) {
  const auto places = read_group_places();
  const auto memory = places.by_controller.find("memory");
  const std::string parent =
      memory != places.by_controller.end() ? memory->second : places.unified.value_or("");
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ::waitpid(gone, nullptr, 0);
  auto left = GroupFolder::make(parent, fmt::format("headroom-run-{}-1", gone));
  if (!left) GTEST_SKIP() << left.error().message;
  const auto used = GroupFolder::make(parent, make_group_name());
  ASSERT_TRUE(used);
  sweep_groups(parent);
  EXPECT_FALSE(std::filesystem::exists(left->path()));
  EXPECT_TRUE(std::filesystem::exists(used->path()));
}

TEST(ProcessTree, leaves_no_group_behind) {
  std::string own;
  {
    const auto tree = must_start(nasty({"daemon", "exit", "0"}));
    wait_for_exit(*tree);
    own = fmt::format("headroom-run-{}-", ::getpid());
  }
  const auto places = read_group_places();
  std::vector<std::string> parents{places.unified.value_or("/proc/self/fd")};
  for (const auto& [name, folder] : places.by_controller) parents.push_back(folder);
  for (const std::string& parent : parents) {
    for (const auto& entry : std::filesystem::directory_iterator(parent))
      EXPECT_FALSE(entry.path().filename().string().starts_with(own)) << entry.path();
  }
}

}  // namespace
}  // namespace headroom::machine
