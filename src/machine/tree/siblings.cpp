// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/siblings.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <system_error>

#include "machine/descriptor.h"
#include "machine/os_error.h"
#include "machine/tree/launch.h"

namespace headroom::machine {
namespace {

constexpr int shell_signal_base = 128;

[[noreturn]] void become(Launch& launch, pid_t parent, int report) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // It was gone before that.
  const LaunchFailure failure = launch.run();
  while (::write(report, &failure, sizeof failure) < 0 && errno == EINTR) {
  }
  ::_exit(1);
}

// Nothing: the program runs.
std::optional<LaunchFailure> read_failure(int from) {
  LaunchFailure failure;
  ssize_t count = 0;
  do {
    count = ::read(from, &failure, sizeof failure);
  } while (count < 0 && errno == EINTR);
  if (count != static_cast<ssize_t>(sizeof failure)) return std::nullopt;
  return failure;
}

Result<pid_t> start_one(const SiblingCommand& command, const Signals& signals) {
  Launch launch(command.argv, command.environment);
  launch.held_back = signals.before();
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return os_error(errno, "making a pipe");
  Descriptor reading(ends[0]), writing(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return os_error(errno, "starting " + command.argv.front());
  if (child == 0) become(launch, parent, writing.get());
  writing = Descriptor();
  if (const auto failure = read_failure(reading.get())) {
    ::waitpid(child, nullptr, 0);
    return launch.explain(*failure);
  }
  return child;
}

TreeExit exit_of(int status) {
  TreeExit exit;
  if (WIFSIGNALED(status)) {
    exit.signal = WTERMSIG(status);
    exit.code = shell_signal_base + *exit.signal;
    exit.dumped_core = WCOREDUMP(status);
  } else {
    exit.code = WEXITSTATUS(status);
  }
  return exit;
}

}  // namespace

Result<Siblings> Siblings::start(const std::vector<SiblingCommand>& commands,
                                 const Signals& signals) {
  Siblings siblings;
  for (const SiblingCommand& command : commands) {
    HEADROOM_TRY(const pid_t pid, start_one(command, signals));
    siblings.pids_.push_back(pid);
  }
  return siblings;
}

Status Siblings::start_again(std::size_t index, const SiblingCommand& command,
                             const Signals& signals) {
  HEADROOM_TRY(pids_.at(index), start_one(command, signals));
  --ended_;
  return Done{};
}

Siblings::~Siblings() {
  send_all(SIGKILL);
  for (const pid_t pid : pids_) {
    if (pid > 0) ::waitpid(pid, nullptr, 0);
  }
}

std::optional<SiblingExit> Siblings::next_exit() {
  for (std::size_t i = 0; i < pids_.size(); ++i) {
    int status = 0;
    if (pids_[i] <= 0 || ::waitpid(pids_[i], &status, WNOHANG) != pids_[i]) continue;
    SiblingExit ended{i, static_cast<std::uint64_t>(pids_[i]), exit_of(status)};
    pids_[i] = -1;
    ++ended_;
    return ended;
  }
  return std::nullopt;
}

void Siblings::send(std::size_t index, int signal) {
  const pid_t pid = pids_.at(index);
  if (pid > 0) ::kill(pid, signal);
}

void Siblings::send_all(int signal) {
  for (std::size_t i = 0; i < pids_.size(); ++i) send(i, signal);
}

void end_with_parent() {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
}

void end_by(int signal) {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::signal(signal, SIG_DFL);
  sigset_t only{};
  sigemptyset(&only);
  sigaddset(&only, signal);
  ::raise(signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  ::_exit(shell_signal_base + signal);  // It is one that does not end a process.
}

void remove_shared_memory(std::string_view prefix, std::string_view part) {
  std::error_code ignored;
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", ignored)) {
    const std::string name = entry.path().filename();
    struct stat status {};
    const bool is_named = name.starts_with(prefix) && name.find(part) != std::string::npos;
    if (is_named && ::lstat(entry.path().c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_uid == ::geteuid())
      found.push_back(entry.path());
  }
  for (const auto& path : found) ::unlink(path.c_str());
}

Result<int> free_loopback_port() {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const named = reinterpret_cast<sockaddr*>(&address);
  if (socket.get() < 0 || ::bind(socket.get(), named, length) != 0 ||
      ::getsockname(socket.get(), named, &length) != 0)
    return os_error(errno, "looking for a free port of 127.0.0.1");
  return ntohs(address.sin_port);
}

}  // namespace headroom::machine
