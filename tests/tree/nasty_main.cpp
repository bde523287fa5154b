// SPDX-License-Identifier: Apache-2.0
// A program that does what makes supervised programs hard to follow and to end. Its words are
// carried out one after the other: nasty_program daemon deaf print 1000000 exit 3
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include "tree/noise.h"

namespace {

using headroom::testing::Noise;

void ignore_all() {
  for (const int signal : {SIGTERM, SIGHUP, SIGINT, SIGQUIT}) ::signal(signal, SIG_IGN);
}

[[noreturn]] void wait_for_ever() {
  for (;;) ::pause();
}

// Out of its group, its session and its parent's sight, and deaf to all that can be ignored.
void start_daemon() {
  const pid_t child = ::fork();
  if (child != 0) {
    ::waitpid(child, nullptr, 0);
    return;
  }
  ::setsid();
  ignore_all();
  if (::fork() != 0) ::_exit(0);
  wait_for_ever();
}

void start_in_own_group() {
  if (::fork() != 0) return;
  ::setpgid(0, 0);
  wait_for_ever();
}

// A child that stops itself: it acts on SIGTERM only once it is continued.
void start_stopped() {
  const pid_t child = ::fork();
  if (child != 0) {
    ::waitpid(child, nullptr, WUNTRACED);
    return;
  }
  ::raise(SIGSTOP);
  wait_for_ever();
}

void print(std::uint64_t length, std::uint64_t seed) {
  Noise noise(seed);
  std::array<char, 50'000> piece;
  while (length > 0) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(length, piece.size()));
    noise.fill({piece.data(), count});
    for (std::size_t at = 0; at < count;) {
      const ssize_t written = ::write(STDOUT_FILENO, piece.data() + at, count - at);
      if (written <= 0) ::_exit(9);
      at += static_cast<std::size_t>(written);
    }
    length -= count;
  }
}

void fill_memory(std::uint64_t length) {
  void* memory =
      ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) ::_exit(8);
  std::memset(memory, 1, length);
}

// Forks as fast as it is let; whoever ends is replaced. Run it where processes are limited.
[[noreturn]] void fork_without_end() {
  ignore_all();
  for (;;) {
    if (::fork() < 0) ::usleep(1000);
  }
}

std::uint64_t number(const char* word) {
  return std::strtoull(word, nullptr, 10);
}

// Returns whether the word was one without an argument.
bool do_plain(std::string_view word) {
  if (word == "daemon") {
    start_daemon();
  } else if (word == "group") {
    start_in_own_group();
  } else if (word == "stopped") {
    start_stopped();
  } else if (word == "deaf") {
    ignore_all();
  } else if (word == "close") {
    ::close(STDOUT_FILENO);
    ::close(STDERR_FILENO);
  } else if (word == "wait") {
    wait_for_ever();
  } else if (word == "abort") {
    std::abort();
  } else if (word == "bomb") {
    fork_without_end();
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (do_plain(word)) continue;
    if (++i == argc) return 2;
    const std::uint64_t value = number(argv[i]);
    if (word == "print") {
      print(value, value);
    } else if (word == "fill") {
      fill_memory(value);
    } else if (word == "spin_ms") {
      while (static_cast<std::uint64_t>(::clock()) * 1000 / CLOCKS_PER_SEC < value) {
      }
    } else if (word == "exit") {
      return static_cast<int>(value);
    } else {
      return 2;
    }
  }
  return 0;
}
