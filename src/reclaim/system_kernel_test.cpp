// SPDX-License-Identifier: Apache-2.0
// The real kernel, with processes that the test itself starts and files of a scratch root.
#include "reclaim/system_kernel.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "facts/process_stat.h"
#include "machine/temporary_folder.h"
#include "reclaim/reclaim.h"

namespace headroom::reclaim {
namespace {

namespace fs = std::filesystem;
using plan::ReclaimEnd;
using plan::Rung;

// A child of the test that waits to be ended, and is gone with this.
class Child {
 public:
  explicit Child(bool obeys) {
    std::array<int, 2> ready{};
    EXPECT_EQ(::pipe(ready.data()), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      if (!obeys) ::signal(SIGTERM, SIG_IGN);
      const ssize_t told = ::write(ready[1], "r", 1);
      while (told == 1) ::pause();
      ::_exit(0);
    }
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);  // Now SIGTERM is ignored, if it is to be.
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  std::uint64_t pid() const { return static_cast<std::uint64_t>(pid_); }
  facts::ProcessStat stat() const {
    std::ifstream file(fmt::format("/proc/{}/stat", pid_));
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const auto stat = facts::parse_process_stat(text);
    EXPECT_TRUE(stat);
    return stat ? *stat : facts::ProcessStat{};
  }
  bool lives() const { return !stat().ended(); }

 private:
  pid_t pid_ = -1;
};

class SystemKernelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = machine::TemporaryFolder::make();
    ASSERT_TRUE(folder);
    folder_.emplace(*std::move(folder));
    std::ofstream(root() / ".headroom-scratch-root") << "";
    fs::create_directories(root() / "proc/sys/vm");
    std::ofstream(root() / "proc/sys/vm/drop_caches") << "0";
    fs::create_directories(root() / "usr/bin");
  }
  fs::path root() const { return folder_->path(); }

  void add_program(const std::string& name, const std::string& script) {
    const fs::path path = root() / "usr/bin" / name;
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    ::chmod(path.c_str(), 0755);
  }

  // A plan and a measurement in which the child holds 8 GiB for as long as it lives.
  static plan::ReclaimPlan plan_of(const Child& child, Rung up_to) {
    plan::ReclaimPlan plan;
    plan.pci = "0000:03:00.0";
    plan.options.up_to = up_to;
    plan.options.grace_s = 1;
    plan.now = measure(child);
    plan.targets.push_back({plan.now.holders.front(), "named by --pid", false, 'S'});
    for (const Rung rung : plan::all_rungs) {
      plan::RungPlan one;
      one.rung = rung;
      one.within = rung <= up_to;
      plan.rungs.push_back(one);
    }
    return plan;
  }
  static plan::Measurement measure(const Child& child) {
    plan::Measurement now;
    now.capacity = 16_GiB;
    now.complete = true;
    if (!child.lives()) return now;
    plan::Held held;
    held.pid = child.pid();
    held.start_ticks = child.stat().start_ticks;
    held.command = "child";
    held.bytes = now.used = 8_GiB;
    now.holders.push_back(held);
    return now;
  }
  std::unique_ptr<Kernel> make(const Child& child) {
    auto kernel = make_system_kernel(root(), [&child] { return measure(child); });
    EXPECT_TRUE(kernel) << kernel.error().message;
    return *std::move(kernel);
  }

 private:
  std::optional<machine::TemporaryFolder> folder_;
};

TEST_F(SystemKernelTest, a_process_that_obeys_ends_when_it_is_asked) {
  const Child child(/*obeys=*/true);
  const auto kernel = make(child);
  const auto outcome = carry_out(plan_of(child, Rung::insist), *kernel);
  EXPECT_EQ(outcome.end, ReclaimEnd::enough);
  EXPECT_EQ(outcome.timeline.back().rung, Rung::ask);
  EXPECT_EQ(outcome.timeline.back().freed, 8_GiB);
  EXPECT_FALSE(child.lives());
}

TEST_F(SystemKernelTest, a_process_that_ignores_lives_until_somebody_insists) {
  const Child child(/*obeys=*/false);
  const auto kernel = make(child);
  EXPECT_EQ(carry_out(plan_of(child, Rung::ask), *kernel).end, ReclaimEnd::not_enough);
  EXPECT_TRUE(child.lives());
  EXPECT_EQ(carry_out(plan_of(child, Rung::insist), *kernel).end, ReclaimEnd::enough);
  EXPECT_FALSE(child.lives());
}

TEST_F(SystemKernelTest, a_process_that_began_at_another_time_is_not_signalled) {
  const Child child(/*obeys=*/true);
  plan::ReclaimPlan plan = plan_of(child, Rung::insist);
  *plan.targets.front().held.start_ticks += 1;
  const auto kernel = make(child);
  EXPECT_FALSE(kernel->hold(child.pid(), child.stat().start_ticks + 1));
  carry_out(plan, *kernel);
  EXPECT_TRUE(child.lives());
}

TEST_F(SystemKernelTest, a_process_that_has_ended_cannot_be_held) {
  const Child child(/*obeys=*/true);
  const auto kernel = make(child);
  const auto held = kernel->hold(child.pid(), child.stat().start_ticks);
  ASSERT_TRUE(held);
  ASSERT_TRUE(kernel->send(*held, Signal::kill));
  EXPECT_TRUE(kernel->wait_ended(*held, 10'000));
  EXPECT_FALSE(kernel->hold(child.pid(), child.stat().start_ticks));
}

TEST_F(SystemKernelTest, files_and_programs_are_the_scratch_roots) {
  const Child child(/*obeys=*/true);
  const auto kernel = make(child);
  ASSERT_TRUE(kernel->write("/proc/sys/vm/drop_caches", "2", 10'000));
  std::string text;
  std::ifstream(root() / "proc/sys/vm/drop_caches") >> text;
  EXPECT_EQ(text, "2");
  add_program("systemctl", "echo \"$@\" > \"$ROOT/told\"");
  ASSERT_TRUE(kernel->run({"systemctl", "stop", "job.service"}, 10'000));
  std::getline(std::ifstream(root() / "told") >> std::ws, text);
  EXPECT_EQ(text, "stop job.service");
}

TEST_F(SystemKernelTest, a_command_that_fails_says_what_it_said) {
  const Child child(/*obeys=*/true);
  const auto kernel = make(child);
  add_program("modprobe", "echo Module amdgpu is in use >&2; exit 1");
  const Status status = kernel->run({"modprobe", "-r", "amdgpu"}, 10'000);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::invalid);
  EXPECT_NE(status.error().message.find("in use"), std::string::npos);
}

TEST_F(SystemKernelTest, a_command_that_hangs_is_left_behind) {
  const Child child(/*obeys=*/true);
  const auto kernel = make(child);
  add_program("modprobe", "exec /bin/sleep 600");
  const Status status = kernel->run({"modprobe", "amdgpu"}, 300);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::busy);
}

TEST_F(SystemKernelTest, the_reset_is_read_where_debugfs_offers_it) {
  const Child child(/*obeys=*/true);
  const auto kernel = make(child);
  const fs::path folder = root() / "sys/kernel/debug/dri/1";
  EXPECT_EQ(kernel->reset_gpu(1, 10'000).error().code, Errc::not_found);
  fs::create_directories(folder);
  std::ofstream(folder / "amdgpu_gpu_recover") << "0\n";
  EXPECT_TRUE(kernel->reset_gpu(1, 10'000));
  std::ofstream(folder / "amdgpu_gpu_recover") << "-110\n";
  EXPECT_EQ(kernel->reset_gpu(1, 10'000).error().code, Errc::io);
}

TEST_F(SystemKernelTest, other_roots_are_refused) {
  fs::remove(root() / ".headroom-scratch-root");
  const auto kernel =
      make_system_kernel(root(), []() -> Result<plan::Measurement> { return plan::Measurement{}; });
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().code, Errc::not_this_system);
}

}  // namespace
}  // namespace headroom::reclaim
