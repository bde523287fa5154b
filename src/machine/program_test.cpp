// SPDX-License-Identifier: Apache-2.0
#include "machine/program.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <thread>

namespace headroom::machine {
namespace {

TEST(Program, its_exit_status_is_returned) {
  EXPECT_EQ(*run_program({"sh", "-c", "exit 7"}), 7);
  EXPECT_EQ(*run_program({"true"}), 0);
}

TEST(Program, a_signal_is_128_and_its_number) {
  EXPECT_EQ(*run_program({"sh", "-c", "kill -9 $$"}), 137);
}

TEST(Program, what_cannot_be_started_is_named) {
  const auto result = run_program({"/no/such/program"});
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message.find("/no/such/program"), std::string::npos);
}

TEST(Program, a_signal_to_us_reaches_it) {
  // The program sends the signal to its parent, us, and ends with 3 only if it comes back.
  EXPECT_EQ(*run_program({"sh", "-c", "trap 'exit 3' TERM; kill -TERM $PPID; sleep 5 & wait"}), 3);
}

TEST(Program, what_it_says_is_kept_whole_with_its_exit_status) {
  const auto answer = ask_program({"sh", "-c", "seq 1 100000; exit 3"});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 3);
  EXPECT_EQ(answer->output.size(), 588895U);  // More than a pipe holds.
  EXPECT_TRUE(answer->output.ends_with("99999\n100000\n"));
}

TEST(Program, one_that_is_asked_ends_with_us_whatever_ends_us) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t asking = ::fork();
  if (asking == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    (void)ask_program({"sh", "-c", "echo here >&2; exec sleep 600"});
    ::_exit(0);
  }
  ::close(ends[1]);
  std::array<char, 16> said{};
  ASSERT_EQ(::read(ends[0], said.data(), said.size()), 5);  // It runs.
  ::kill(asking, SIGKILL);
  ::waitpid(asking, nullptr, 0);
  EXPECT_EQ(::read(ends[0], said.data(), said.size()), 0);  // Nobody has the other end.
  ::close(ends[0]);
}

TEST(Program, one_that_is_asked_and_is_not_there_is_named) {
  const auto answer = ask_program({"/no/such/program"});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::not_found);
  EXPECT_NE(answer.error().message.find("/no/such/program"), std::string::npos);
}

TEST(Program, our_folder_is_where_the_test_program_is) {
  const auto folder = program_folder();
  ASSERT_TRUE(folder.has_value());
  EXPECT_EQ(::access((*folder + "/machine_test").c_str(), X_OK), 0);
}

}  // namespace
}  // namespace headroom::machine
