// SPDX-License-Identifier: Apache-2.0
#include "machine/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "machine/descriptor.h"
#include "machine/os_error.h"

namespace headroom::machine {
namespace {

constexpr int keep_output = -1;  // The program's standard output is ours.

// The signals we wait for while the program runs: blocked here, as they were in the program.
class WaitedSignals {
 public:
  WaitedSignals() {
    sigemptyset(&waited_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD})
      sigaddset(&waited_, signal);
    pthread_sigmask(SIG_BLOCK, &waited_, &before_);
  }
  ~WaitedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WaitedSignals(const WaitedSignals&) = delete;
  WaitedSignals& operator=(const WaitedSignals&) = delete;

  const sigset_t& before() const { return before_; }
  siginfo_t next() const {
    siginfo_t info{};
    while (sigwaitinfo(&waited_, &info) < 0 && errno == EINTR) {
    }
    return info;
  }

 private:
  sigset_t waited_{};
  sigset_t before_{};
};

std::vector<char*> words_of(const std::vector<std::string>& argv) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  return words;
}

Result<pid_t> spawn(const std::vector<std::string>& argv, const sigset_t& mask) {
  std::vector<char*> words = words_of(argv);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &mask);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, words[0], nullptr, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (failure != 0) return os_error(failure, fmt::format("starting {}", argv[0]));
  return child;
}

// The child's way to another program: system calls alone.
struct Bound {
  char* const* words;
  const sigset_t* mask;
  int output;
  int report;  // Of the errno, where there is no way.
  pid_t parent;
};

[[noreturn]] void become(const Bound& bound) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != bound.parent) ::_exit(1);  // It was gone before that.
  pthread_sigmask(SIG_SETMASK, bound.mask, nullptr);
  if (::dup2(bound.output, STDOUT_FILENO) >= 0) ::execvp(bound.words[0], bound.words);
  const int failure = errno;
  while (::write(bound.report, &failure, sizeof failure) < 0 && errno == EINTR) {
  }
  ::_exit(1);
}

// A child that ends with us, which posix_spawn(3) has no word for.
Result<pid_t> fork_bound(const std::vector<std::string>& argv, const sigset_t& mask, int output) {
  const std::vector<char*> words = words_of(argv);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return os_error(errno, "making a pipe");
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  const Bound bound{words.data(), &mask, output, writing.get(), ::getpid()};
  const pid_t child = ::fork();
  if (child < 0) return os_error(errno, fmt::format("starting {}", argv[0]));
  if (child == 0) become(bound);
  writing = Descriptor();
  int failure = 0;
  ssize_t count = 0;
  do {
    count = ::read(reading.get(), &failure, sizeof failure);
  } while (count < 0 && errno == EINTR);
  if (count != static_cast<ssize_t>(sizeof failure)) return child;
  ::waitpid(child, nullptr, 0);
  return os_error(failure, fmt::format("starting {}", argv[0]));
}

Result<int> run_and_wait(const std::vector<std::string>& argv, int output) {
  const WaitedSignals signals;
  HEADROOM_TRY(const pid_t child, output == keep_output
                                      ? spawn(argv, signals.before())
                                      : fork_bound(argv, signals.before(), output));
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended < 0) return os_error(errno, fmt::format("waiting for {}", argv[0]));
    if (ended == child) return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    const siginfo_t info = signals.next();
    // What a terminal sends goes to the program as well: only what was meant for us alone is passed
    // on.
    if (info.si_signo != SIGCHLD && info.si_code != SI_KERNEL) ::kill(child, info.si_signo);
  }
}

Result<std::string> read_from_start(int file) {
  std::string text;
  std::array<char, 65536> piece;
  for (;;) {
    const ssize_t count =
        ::pread(file, piece.data(), piece.size(), static_cast<off_t>(text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return os_error(errno, "reading what a program said");
    if (count == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

Result<int> run_program(const std::vector<std::string>& argv) {
  return run_and_wait(argv, keep_output);
}

// Into memory and not through a pipe: nobody has to read while we wait for signals.
Result<ProgramAnswer> ask_program(const std::vector<std::string>& argv) {
  const Descriptor output(::memfd_create("output", MFD_CLOEXEC));
  if (output.get() < 0) return os_error(errno, "keeping what a program says");
  ProgramAnswer answer;
  HEADROOM_TRY(answer.status, run_and_wait(argv, output.get()));
  HEADROOM_TRY(answer.output, read_from_start(output.get()));
  return answer;
}

Result<std::string> program_path() {
  std::array<char, 4096> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  if (length <= 0) return os_error(errno, "reading /proc/self/exe");
  return std::string(path.data(), static_cast<std::size_t>(length));
}

std::uint64_t usable_processors() {
  cpu_set_t set{};
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<std::uint64_t>(std::max(1, CPU_COUNT(&set)));
}

Result<std::string> program_folder() {
  HEADROOM_TRY(const std::string whole, program_path());
  return whole.substr(0, whole.rfind('/'));
}

}  // namespace headroom::machine
