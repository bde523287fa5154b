// SPDX-License-Identifier: Apache-2.0
// What the kernel says in text, read; signals and moments, waited for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string>

#include "machine/tree/group_places.h"
#include "machine/tree/kernel_messages.h"
#include "machine/tree/process_scan.h"
#include "machine/tree/read_along.h"
#include "machine/tree/signals.h"
#include "machine/tree/wait.h"

namespace headroom::machine {
namespace {

TEST(GroupPlaces, hybrid_set_up_has_both) {
  const auto places = find_group_places(
      "30 24 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
      "31 24 0:27 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
      "32 24 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n",
      "4:memory:/user.slice\n3:cpu,cpuacct:/\n0::/user.slice/session-2.scope\n");
  EXPECT_EQ(places.unified, "/sys/fs/cgroup/unified/user.slice/session-2.scope");
  EXPECT_EQ(places.by_controller.at("memory"), "/sys/fs/cgroup/memory/user.slice");
  EXPECT_EQ(places.by_controller.at("cpuacct"), "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_FALSE(places.by_controller.contains("freezer"));
}

TEST(GroupPlaces, container_sees_a_part_of_the_hierarchy) {
  const auto places = find_group_places(
      "900 890 0:30 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
      "901 890 0:31 /docker/abc /mnt/with\\040space rw - cgroup2 cgroup2 rw\n",
      "4:memory:/docker/abc\n0::/docker/abc/inner\n");
  EXPECT_EQ(places.by_controller.at("memory"), "/sys/fs/cgroup/memory");
  EXPECT_EQ(places.unified, "/mnt/with space/inner");
}

TEST(GroupPlaces, group_that_is_not_shown_is_absent) {
  const auto places = find_group_places(
      "31 24 0:27 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/docker/abcdef\n");
  EXPECT_FALSE(places.unified);
  EXPECT_FALSE(
      find_group_places("31 24 0:27 / /sys/fs/cgroup rw - cgroup2 c rw\n", "0::/../x\n").unified);
}

TEST(ProcessScan, name_may_hold_anything) {
  const auto process = parse_process_stat(
      "42 (a) Z (b) S 7 42 42 0 -1 4194304 1 2 3 4 50 60 70 80 20 0 1 0 12345 1000 25 18446744\n");
  ASSERT_TRUE(process);
  EXPECT_EQ(process->name, "a) Z (b");
  EXPECT_EQ(process->state, 'S');
  EXPECT_EQ(process->parent, 7);
  EXPECT_EQ(process->own_ticks, 110U);
  EXPECT_EQ(process->waited_ticks, 150U);
  EXPECT_EQ(process->start_ticks, 12345U);
  EXPECT_EQ(process->rss.value, 25U * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  EXPECT_FALSE(parse_process_stat("42 (short) S 7"));
}

TEST(KernelMessages, record_is_read_and_printed_as_dmesg_does) {
  KernelMessage message;
  ASSERT_TRUE(parse_kernel_record(
      "3,1012,5140900,-;amdgpu: GPU reset\\x0abegin\n SUBSYSTEM=pci\n DEVICE=+pci:0000:03:00.0\n",
      message));
  EXPECT_EQ(message.text, "amdgpu: GPU reset\nbegin");
  EXPECT_EQ(KernelMessages::to_line(message), "[    5.140900] amdgpu: GPU reset\nbegin");
}

TEST(KernelMessages, what_a_program_wrote_is_no_message_of_the_kernel) {
  KernelMessage message;
  EXPECT_FALSE(parse_kernel_record("12,1013,5140901,-;amdgpu: GPU reset begin!\n", message));
  EXPECT_FALSE(parse_kernel_record("no record", message));
}

TEST(Signals, come_as_values_with_who_sent_them) {
  auto signals = Signals::take();
  ASSERT_TRUE(signals);
  EXPECT_FALSE(signals->next());
  ::kill(::getpid(), SIGTERM);
  const std::array descriptors{signals->descriptor()};
  EXPECT_TRUE(wait_readable(descriptors, 60'000)[0]);
  const auto arrived = signals->next();
  ASSERT_TRUE(arrived);
  EXPECT_EQ(arrived->number, SIGTERM);
  EXPECT_FALSE(arrived->from_terminal);
  EXPECT_EQ(arrived->sender, static_cast<std::uint64_t>(::getpid()));
}

TEST(Signals, what_was_ignored_stays_ignored_and_the_rest_is_as_before) {
  const auto before = ::signal(SIGHUP, SIG_IGN);
  sigset_t mask{};
  {
    auto signals = Signals::take();
    ASSERT_TRUE(signals);
    ::raise(SIGHUP);
    EXPECT_FALSE(signals->next());
    ::kill(::getpid(), SIGUSR1);  // Not read: it is forgotten, and ends nobody.
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    EXPECT_EQ(sigismember(&mask, SIGUSR1), 1);
  }
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGUSR1), 0);
  ::signal(SIGHUP, before);
}

TEST(WaitReadable, tells_which_and_passes_over_none) {
  std::array<int, 2> both{};
  ASSERT_EQ(::pipe(both.data()), 0);
  const std::array descriptors{-1, both[0]};
  EXPECT_EQ(wait_readable(descriptors, 0), (std::vector<bool>{false, false}));
  ::close(both[1]);
  EXPECT_EQ(wait_readable(descriptors, std::nullopt), (std::vector<bool>{false, true}));
  ::close(both[0]);
}

TEST(ReadAlong, oldest_is_left_out_and_counted) {
  ReadAlong ring(10);
  const auto add = [&](std::string_view text) {
    while (!text.empty()) {
      const auto space = ring.reserve(text.size());
      std::copy_n(text.begin(), space.size(), space.begin());
      ring.commit(space.size());
      text.remove_prefix(space.size());
    }
  };
  add("abcdefgh");
  add("ijklm");
  ring.close();
  std::array<char, 100> into;
  std::string all;
  std::uint64_t missing = 0;
  for (;;) {
    std::uint64_t left_out = 0;
    const auto piece = ring.read(into, left_out);
    if (piece.empty()) break;
    all += piece;
    missing += left_out;
  }
  EXPECT_EQ(all, "defghijklm");
  EXPECT_EQ(missing, 3U);
}

}  // namespace
}  // namespace headroom::machine
