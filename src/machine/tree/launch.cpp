// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "base/text.h"
#include "machine/os_error.h"

namespace headroom::machine {
namespace {

constexpr const char* shell = "/bin/sh";

std::string_view path_of(const std::vector<std::string>& environment) {
  constexpr std::string_view name = "PATH=";
  for (const std::string_view entry : environment) {
    if (entry.starts_with(name)) return entry.substr(name.size());
  }
  return "/bin:/usr/bin";  // What execvp(3) takes where there is none.
}

std::vector<std::string> find_candidates(const std::string& name, std::string_view path) {
  if (name.empty() || name.find('/') != std::string::npos) return {name};
  std::vector<std::string> found;
  for (const std::string_view folder : split(path, ':')) {
    // An empty entry is the working directory.
    found.push_back(folder.empty() ? "./" + name : fmt::format("{}/{}", folder, name));
  }
  return found;
}

// What makes execvp(3) try the next folder.
bool is_absent(int number) {
  return number == ENOENT || number == ENOTDIR || number == ESTALE || number == ENODEV ||
         number == ETIMEDOUT;
}

// Puts each where it belongs, though one may lie where another has to go.
int place_streams(const std::array<int, 3>& streams) {
  constexpr int above = 3;
  std::array<int, 3> copies{-1, -1, -1};
  for (std::size_t i = 0; i < streams.size(); ++i) {
    copies[i] = ::fcntl(streams[i], F_DUPFD_CLOEXEC, above);
    if (copies[i] < 0 && errno != EBADF) return errno;
  }
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const int number = static_cast<int>(i);
    if (copies[i] < 0) {
      ::close(number);
    } else if (::dup2(copies[i], number) < 0) {
      return errno;
    }
  }
  return 0;  // The copies close when the program begins.
}

}  // namespace

Launch::Launch(const std::vector<std::string>& argv, const std::vector<std::string>& environment)
    : name_(argv.at(0)), candidates_(find_candidates(name_, path_of(environment))) {
  texts_ = argv;
  texts_.insert(texts_.end(), environment.begin(), environment.end());
  shell_argv_ = {const_cast<char*>(shell), nullptr};
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    char* text = texts_[i].data();
    if (i >= argv.size()) {
      environment_.push_back(text);
      continue;
    }
    argv_.push_back(text);
    if (i > 0) shell_argv_.push_back(text);
  }
  argv_.push_back(nullptr);
  shell_argv_.push_back(nullptr);
  environment_.push_back(nullptr);
  sigemptyset(&held_back);
}

// As execvpe(3) of the GNU C library goes about it.
int Launch::execute() {
  int failure = ENOENT;
  for (std::string& candidate : candidates_) {
    ::execve(candidate.c_str(), argv_.data(), environment_.data());
    if (errno == ENOEXEC) {
      shell_argv_[1] = candidate.data();
      ::execve(shell, shell_argv_.data(), environment_.data());
    }
    if (is_absent(errno)) continue;
    failure = errno;
    if (failure != EACCES) return failure;
  }
  return failure;
}

LaunchFailure Launch::run() {
  if (const int number = place_streams(streams); number != 0)
    return {LaunchFailure::streams, number};
  if (!folder.empty() && ::chdir(folder.c_str()) != 0) return {LaunchFailure::folder, errno};
  pthread_sigmask(SIG_SETMASK, &held_back, nullptr);
  return {LaunchFailure::program, execute()};
}

Error Launch::explain(LaunchFailure failure) const {
  if (failure.stage == LaunchFailure::streams)
    return os_error(failure.number, fmt::format("giving {} its standard streams", name_));
  if (failure.stage == LaunchFailure::folder) {
    Error error = os_error(failure.number, fmt::format("entering {}", folder));
    if (error.code == Errc::not_found) error.code = Errc::invalid;  // The program may be there.
    return error;
  }
  const std::string doing = fmt::format("starting {}", name_);
  if (!is_absent(failure.number)) {
    Error error = os_error(failure.number, doing);
    // Every other refusal to execute a file that is there is one of that file's.
    if (error.code != Errc::no_permission && error.code != Errc::out_of_memory)
      error.code = Errc::invalid;
    return error;
  }
  struct stat status {};
  if (name_.find('/') == std::string::npos)
    return {Errc::not_found, doing + ": there is no such program in the folders of PATH",
            fmt::format("type -a {}", name_)};
  if (::stat(name_.c_str(), &status) != 0) return os_error(ENOENT, doing);
  return {Errc::invalid, doing + ": the interpreter that its first line names is not there",
          fmt::format("head -n 1 {}", name_)};
}

}  // namespace headroom::machine
