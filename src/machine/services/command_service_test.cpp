// SPDX-License-Identifier: Apache-2.0
// A service of plain commands, with real processes: daemons, crashes, and what outlives us.
#include "machine/services/command_service.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <ctime>

#include "machine/clock.h"
#include "machine/services/process_list.h"
#include "machine/services/running_program.h"
#include "machine/temporary_folder.h"
#include "machine/user_files.h"

namespace headroom::machine {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t long_ms = 20'000;

class Commands : public testing::Test {
 protected:
  Commands() : folder_(*TemporaryFolder::make()) {}
  ~Commands() override {
    if (service_) (void)service_->stop(0);
  }

  // `daemon` runs with setsid in the background; its pid is in the file "pid".
  void make(const std::string& daemon, const std::string& stop = "kill $(cat pid)") {
    CommandServiceOptions options;
    options.name = "toy";
    options.folder = folder_.path();
    options.environment = {"PATH=/usr/bin:/bin"};
    options.start = {"sh", "-c", "setsid sh -c '" + daemon + "' & echo $! > pid; cat pid"};
    options.stop = {"sh", "-c", stop};
    options.status = {"sh", "-c", "kill -0 $(cat pid)"};
    options.logs = {"cat", "log"};
    options.output_file = folder_.path() + "/output";
    ASSERT_TRUE(write_file_atomic(folder_.path() + "/log", "old line\n"));
    service_ = make_command_service(options);
    service_->observe();
  }
  // Samples until one satisfies `is_it`; the deaths of all of them.
  template <class Test>
  ServiceSample sample_until(Test is_it) {
    std::vector<ServiceDeath> deaths;
    const std::uint64_t deadline = monotonic_ns() + long_ms * 1'000'000;
    for (;;) {
      ServiceSample sample = service_->sample();
      deaths.insert(deaths.end(), sample.deaths.begin(), sample.deaths.end());
      if (is_it(sample) || monotonic_ns() > deadline) {
        sample.deaths = deaths;
        return sample;
      }
      sleep_ms(10);
    }
  }

  TemporaryFolder folder_;
  std::unique_ptr<Service> service_;
};

bool is_down(const ServiceSample& sample) {
  return !sample.running;
}

TEST_F(Commands, a_daemon_is_found_measured_and_stopped) {
  make("exec sleep 1000");
  ASSERT_TRUE(service_->start(long_ms));
  EXPECT_EQ(service_->status()->state, ServiceStatus::State::running);
  const ServiceSample sample = sample_until([](const ServiceSample& one) {
    return one.pids.size() == 1 && one.memory && one.memory->value > 0;
  });
  EXPECT_TRUE(sample.running);
  ASSERT_EQ(sample.pids.size(), 1U);
  EXPECT_THAT(sample.deaths, IsEmpty());
  ASSERT_TRUE(service_->stop(std::nullopt));
  EXPECT_EQ(service_->status()->state, ServiceStatus::State::stopped);
  EXPECT_NE(::kill(static_cast<pid_t>(sample.pids[0]), 0), 0);
  EXPECT_THAT(service_->sample().deaths, IsEmpty()) << "what was stopped has not crashed";
}

TEST_F(Commands, a_daemon_that_aborts_says_so) {
  make("sleep 0.1; kill -ABRT $$");
  ASSERT_TRUE(service_->start(long_ms));
  const ServiceSample sample = sample_until(is_down);
  EXPECT_FALSE(sample.running);
  ASSERT_EQ(sample.deaths.size(), 1U);
  EXPECT_EQ(sample.deaths[0].code, 134);
  EXPECT_EQ(sample.deaths[0].signal, SIGABRT);
  EXPECT_TRUE(sample.deaths[0].main);
}

TEST_F(Commands, who_dies_with_a_full_address_space_was_ended_by_its_limit) {
  make(
      "ulimit -v 200000; exec python3 -c \"import time\nkept = []\nwhile True:\n kept.append("
      "bytearray(1 << 21))\n time.sleep(0.02)\"");
  ASSERT_TRUE(service_->start(long_ms));
  const ServiceSample sample = sample_until(is_down);
  EXPECT_FALSE(sample.running);
  EXPECT_EQ(sample.oom_kills, 1U);
}

// A daemon whose child does `ends` and stays a zombie; the file "ready" says that it is one.
std::string daemon_with_dead_child(const std::string& ends) {
  return "exec python3 -c \"import os, time\nchild = os.fork()\nif child == 0: " + ends +
         "\nos.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)\nopen(\\\"ready\\\", "
         "\\\"w\\\")\ntime.sleep(1000)\"";
}

TEST_F(Commands, a_helper_that_answered_before_it_was_seen_has_not_failed) {
  make(daemon_with_dead_child("os._exit(1)"));
  ASSERT_TRUE(service_->start(long_ms));
  const std::string ready = folder_.path() + "/ready";
  const std::uint64_t deadline = monotonic_ns() + long_ms * 1'000'000;
  while (!read_file(ready) && monotonic_ns() < deadline) sleep_ms(10);
  ASSERT_TRUE(read_file(ready));
  for (int i = 0; i < 3; ++i) {
    const ServiceSample sample = service_->sample();
    EXPECT_TRUE(sample.running);
    EXPECT_THAT(sample.deaths, IsEmpty());
  }
}

TEST_F(Commands, a_child_that_was_killed_is_told_of_even_if_it_was_not_seen_before) {
  make(daemon_with_dead_child("os.abort()"));
  ASSERT_TRUE(service_->start(long_ms));
  const ServiceSample sample =
      sample_until([](const ServiceSample& one) { return !one.deaths.empty(); });
  ASSERT_EQ(sample.deaths.size(), 1U);
  EXPECT_EQ(sample.deaths[0].signal, SIGABRT);
  EXPECT_FALSE(sample.deaths[0].main);
}

TEST_F(Commands, a_service_that_ends_with_zero_has_ended_all_the_same) {
  make("sleep 0.1");
  ASSERT_TRUE(service_->start(long_ms));
  EXPECT_TRUE(service_->sample().running);
  const ServiceSample sample = sample_until(is_down);
  ASSERT_EQ(sample.deaths.size(), 1U);
  EXPECT_EQ(sample.deaths[0].code, 0);
}

TEST_F(Commands, a_worker_that_its_parent_starts_again_is_seen) {
  make("while true; do sleep 0.13; done");
  ASSERT_TRUE(service_->start(long_ms));
  const ServiceSample sample =
      sample_until([](const ServiceSample& one) { return !one.replaced.empty(); });
  ASSERT_FALSE(sample.replaced.empty());
  EXPECT_TRUE(sample.running);
  EXPECT_FALSE(sample.replaced[0].main);
}

TEST_F(Commands, a_worker_that_comes_again_after_a_pause_is_seen_too) {
  make("while true; do /bin/sleep 0.13; timeout 0.5 cat fifo; done");
  ASSERT_EQ(::mkfifo((folder_.path() + "/fifo").c_str(), 0600), 0);
  ASSERT_TRUE(service_->start(long_ms));
  const ServiceSample sample =
      sample_until([](const ServiceSample& one) { return !one.replaced.empty(); });
  EXPECT_FALSE(sample.replaced.empty());
}

TEST_F(Commands, what_ignores_sigterm_is_ended_when_the_time_is_over) {
  make("trap \"\" TERM; while true; do sleep 1; done");
  ASSERT_TRUE(service_->start(long_ms));
  const auto pids = service_->sample().pids;
  ASSERT_FALSE(pids.empty());
  ASSERT_TRUE(service_->stop(100));
  for (const std::uint64_t pid : pids) EXPECT_NE(::kill(static_cast<pid_t>(pid), 0), 0);
}

TEST_F(Commands, a_stop_that_waits_for_its_daemon_does_not_wait_for_ever) {
  make("exec sleep 1000", "kill $(cat pid); while kill -0 $(cat pid); do sleep 0.01; done");
  ASSERT_TRUE(service_->start(long_ms));
  EXPECT_TRUE(service_->stop(std::nullopt));
}

TEST_F(Commands, what_a_command_of_ours_leaves_running_is_no_part_of_the_service) {
  make("exec sleep 1000", "setsid sleep 1001 >/dev/null 2>&1 & echo $! > other; kill $(cat pid)");
  ASSERT_TRUE(service_->start(long_ms));
  ASSERT_TRUE(service_->stop(std::nullopt));
  const auto other = read_file(folder_.path() + "/other");
  ASSERT_TRUE(other);
  EXPECT_EQ(::kill(std::stoi(*other), SIGKILL), 0) << "it was ended with the service";
}

// Started by somebody else, and without a pidfile: only `status` knows when it is gone.
TEST_F(Commands, a_stop_that_returns_early_is_waited_for) {
  CommandServiceOptions options;
  options.name = "other";
  options.folder = folder_.path();
  options.environment = {"PATH=/usr/bin:/bin"};
  options.start = {"true"};
  options.stop = {"sh", "-c", "(sleep 0.3; rm lives) >/dev/null 2>&1 &"};
  options.status = {"test", "-e", "lives"};
  options.output_file = folder_.path() + "/output";
  ASSERT_TRUE(write_file_atomic(folder_.path() + "/lives", "yes\n"));
  const auto other = make_command_service(options);
  EXPECT_TRUE(other->stop(std::nullopt));
  EXPECT_FALSE(read_file(folder_.path() + "/lives"));
}

TEST_F(Commands, the_log_begins_where_it_was_observed) {
  make("echo to-its-output; echo new line >> log; exec sleep 1000");
  ASSERT_TRUE(service_->start(long_ms));
  std::string log;
  const std::uint64_t deadline = monotonic_ns() + long_ms * 1'000'000;
  while (log.find("new line") == std::string::npos && monotonic_ns() < deadline)
    log = *service_->log();
  EXPECT_THAT(log, HasSubstr("new line\n"));
  EXPECT_THAT(log, HasSubstr("to-its-output\n"));
  EXPECT_THAT(log, testing::Not(HasSubstr("old line")));
}

TEST_F(Commands, a_start_that_fails_says_what_it_said) {
  CommandServiceOptions options;
  options.name = "toy";
  options.folder = folder_.path();
  options.environment = {"PATH=/usr/bin:/bin"};
  options.start = {"sh", "-c", "echo no such model >&2; exit 3"};
  options.stop = {"true"};
  options.output_file = folder_.path() + "/output";
  service_ = make_command_service(options);
  const Status started = service_->start(long_ms);
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, HasSubstr("found 3: no such model"));
}

TEST_F(Commands, a_start_that_does_not_return_is_ended) {
  make("true");
  CommandServiceOptions options;
  options.name = "toy";
  options.folder = folder_.path();
  options.environment = {"PATH=/usr/bin:/bin"};
  options.start = {"sleep", "1000"};
  options.stop = {"true"};
  options.output_file = folder_.path() + "/output";
  auto other = make_command_service(options);
  const Status started = other->start(100);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Errc::busy);
  EXPECT_TRUE(other->stop(0));
}

// PID 1 of a container asks for nobody, so what ended there stays in the list of processes.
TEST_F(Commands, an_end_that_nobody_asks_for_is_told_once) {
  CommandServiceOptions options;
  options.name = "toy";
  options.folder = folder_.path();
  options.environment = {"PATH=/usr/bin:/bin"};
  options.status = {"true"};
  options.pidfile = folder_.path() + "/pid";
  const std::string script = "sleep 1000 & echo $! > " + options.pidfile + "; exec sleep 1000";
  const pid_t holder = ::fork();
  if (holder == 0) {
    ::execlp("sh", "sh", "-c", script.c_str(), nullptr);
    ::_exit(127);
  }
  const auto other = make_command_service(options);
  const std::uint64_t deadline = monotonic_ns() + long_ms * 1'000'000;
  while (other->sample().pids.empty() && monotonic_ns() < deadline) sleep_ms(10);
  other->observe();
  const auto pid = read_file(options.pidfile);
  ASSERT_TRUE(pid);
  ASSERT_EQ(::kill(std::stoi(*pid), SIGKILL), 0);
  std::size_t deaths = 0;
  while (deaths == 0 && monotonic_ns() < deadline) deaths += other->sample().deaths.size();
  for (int i = 0; i < 5; ++i) deaths += other->sample().deaths.size();
  EXPECT_EQ(deaths, 1U);
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
}

TEST_F(Commands, a_number_that_was_given_to_somebody_else_is_not_the_service) {
  CommandServiceOptions options;
  options.name = "toy";
  options.folder = folder_.path();
  options.environment = {"PATH=/usr/bin:/bin"};
  options.status = {"false"};
  options.stop = {"true"};
  options.pidfile = folder_.path() + "/pid";
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    ::execlp("sleep", "sleep", "1000", nullptr);
    ::_exit(127);
  }
  ASSERT_TRUE(write_file_atomic(options.pidfile, std::to_string(stranger) + "\n"));
  const timespec long_ago[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, options.pidfile.c_str(), long_ago, 0), 0);
  const auto other = make_command_service(options);
  EXPECT_THAT(other->sample().pids, IsEmpty());
  EXPECT_TRUE(other->stop(0));
  EXPECT_EQ(::waitpid(stranger, nullptr, WNOHANG), 0) << "it was ended";
  ::kill(stranger, SIGKILL);
  ::waitpid(stranger, nullptr, 0);
}

// More than is kept of it was there before.
TEST_F(Commands, what_is_new_is_found_behind_a_long_log) {
  make("exec sleep 1000");
  const std::string log = folder_.path() + "/log";
  ASSERT_TRUE(write_file_atomic(log, std::string(std::size_t{40} << 20U, 'x') + "\n"));
  service_->observe();
  ASSERT_EQ(std::system(("echo new line >> " + log).c_str()), 0);
  EXPECT_EQ(*service_->log(), "new line\n");
  ASSERT_TRUE(write_file_atomic(log, "rotated\n"));
  EXPECT_EQ(*service_->log(), "rotated\n");
}

// Another call of ours, after one that was killed: it knows the service by the variable alone.
TEST_F(Commands, another_call_finds_what_an_earlier_one_started) {
  make("exec sleep 1000");
  const pid_t child = ::fork();
  if (child == 0) ::_exit(service_->start(long_ms) ? 0 : 1);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(service_->sample().pids.empty());
  EXPECT_TRUE(service_->stop(0));
  EXPECT_THAT(service_->sample().pids, IsEmpty());
}

TEST(ProcessStat, a_name_may_hold_brackets_and_blanks) {
  const auto it = parse_process_stat(
      "4711 (a) b (c) S 12 4711 4711 0 -1 4194560 1 2 3 4 150 50 0 0 20 0 1 0 9999 8192 3 1", 4096,
      100);
  ASSERT_TRUE(it);
  EXPECT_EQ(it->name, "a) b (c");
  EXPECT_EQ(it->parent, 12U);
  EXPECT_EQ(it->processor_ms, 2000U);
  EXPECT_EQ(it->started, 9999U);
  EXPECT_EQ(it->address_space, Bytes{8192});
  EXPECT_EQ(it->rss, Bytes{3 * 4096});
}

}  // namespace
}  // namespace headroom::machine
