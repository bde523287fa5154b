// SPDX-License-Identifier: Apache-2.0
// Which signals are somebody's wish, and which only the end of a login session.
#include "machine/services/held_signals.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <vector>

namespace headroom::machine {
namespace {

// What a child of ours takes after its parent has sent it these: 'T' for SIGTERM, 'I' for SIGINT,
// '-' for nothing; '?' where the child was ended.
char taken_after(const std::vector<int>& signals) {
  std::array<int, 2> ready{}, sent{};
  if (::pipe(ready.data()) != 0 || ::pipe(sent.data()) != 0) return '?';
  const pid_t child = ::fork();
  if (child == 0) {
    char answer = '-', word = 0;
    {
      HeldSignals held;
      (void)!::write(ready[1], &word, 1);
      (void)!::read(sent[0], &word, 1);
      if (const auto name = held.take()) answer = *name == "SIGINT" ? 'I' : 'T';
    }
    ::_exit(answer);
  }
  char word = 0;
  (void)!::read(ready[0], &word, 1);
  for (const int signal : signals) ::kill(child, signal);
  (void)!::write(sent[1], &word, 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  for (const int end : {ready[0], ready[1], sent[0], sent[1]}) ::close(end);
  return WIFEXITED(status) ? static_cast<char>(WEXITSTATUS(status)) : '?';
}

TEST(HeldSignals, a_wish_to_end_is_told) {
  EXPECT_EQ(taken_after({SIGINT}), 'I');
  EXPECT_EQ(taken_after({SIGTERM}), 'T');
  EXPECT_EQ(taken_after({SIGINT, SIGHUP}), 'I') << "^C is typed by somebody";
}

TEST(HeldSignals, the_end_of_a_session_is_nobodys_wish) {
  EXPECT_EQ(taken_after({SIGHUP}), '-');
  EXPECT_EQ(taken_after({SIGTERM, SIGHUP}), '-') << "as sudo passes it on at logout";
  EXPECT_EQ(taken_after({SIGHUP, SIGTERM}), '-');
}

TEST(HeldSignals, who_is_not_the_parent_means_it) {
  HeldSignals held;
  ::kill(::getpid(), SIGHUP);
  ::kill(::getpid(), SIGTERM);
  EXPECT_EQ(held.take(), "SIGTERM");
  EXPECT_EQ(held.take(), std::nullopt);
}

}  // namespace
}  // namespace headroom::machine
