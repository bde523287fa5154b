// SPDX-License-Identifier: Apache-2.0
#include "machine/input_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>

#include "machine/os_error.h"

namespace headroom::machine {
namespace {

Result<pid_t> spawn_into(const std::vector<std::string>& argv, int output) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none{};
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, words[0], &actions, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) return os_error(failure, fmt::format("starting {}", argv[0]));
  return child;
}

}  // namespace

Result<InputStream> InputStream::open(const std::string& path) {
  const std::string doing = "reading " + (path == "-" ? "standard input" : path);
  Descriptor file(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                              : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0) return os_error(errno, doing);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return os_error(errno, doing);
  if (S_ISDIR(status.st_mode)) {
    return Error{Errc::invalid, doing + ": expected a file, found a folder", ""};
  }
  return InputStream(std::move(file), path == "-" ? "standard input" : path,
                     !S_ISREG(status.st_mode), 0);
}

Result<InputStream> InputStream::from_program(const std::vector<std::string>& argv) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return os_error(errno, "making a pipe");
  Descriptor reading(ends[0]);
  const Descriptor writing(ends[1]);
  HEADROOM_TRY(const pid_t child, spawn_into(argv, writing.get()));
  return InputStream(std::move(reading), argv[0], true, child);
}

InputStream::InputStream(InputStream&& other) noexcept
    : descriptor_(std::move(other.descriptor_)),
      name_(std::move(other.name_)),
      is_live_(other.is_live_),
      child_(std::exchange(other.child_, 0)) {}

InputStream::~InputStream() {
  if (child_ <= 0) return;
  ::kill(child_, SIGTERM);
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

int InputStream::wait_for_exit() {
  if (child_ <= 0) return 0;
  int status = 0;
  while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = 0;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Result<InputStream::Piece> InputStream::read(std::span<char> buffer,
                                             std::chrono::milliseconds patience) {
  pollfd waiting{descriptor_.get(), POLLIN, 0};
  const int ready = ::poll(&waiting, 1, static_cast<int>(patience.count()));
  if (ready == 0 || (ready < 0 && errno == EINTR)) return Piece{State::quiet, 0};
  if (ready < 0) return os_error(errno, "waiting for " + name_);
  const ssize_t count = ::read(descriptor_.get(), buffer.data(), buffer.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return Piece{State::quiet, 0};
  if (count < 0) return os_error(errno, "reading " + name_);
  if (count == 0) return Piece{State::end, 0};
  return Piece{State::data, static_cast<std::size_t>(count)};
}

}  // namespace headroom::machine
