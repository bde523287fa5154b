// SPDX-License-Identifier: Apache-2.0
#include "machine/bounded_call.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>

#include "machine/clock.h"
#include "machine/descriptor.h"
#include "machine/os_error.h"

namespace headroom::machine {
namespace {

// The answer on its way through the pipe: one byte for the kind, then the message.
constexpr char succeeded = 's';
constexpr char code_base = 'A';

[[noreturn]] void answer(int fd, const std::function<Status()>& call) {
  const Status status = call();
  std::string text(1, succeeded);
  if (!status) {
    // busy is the deadline's word alone.
    const Errc code = status.error().code == Errc::busy ? Errc::io : status.error().code;
    text = static_cast<char>(code_base + static_cast<int>(code)) + status.error().message;
  }
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t count = ::write(fd, text.data() + sent, text.size() - sent);
    if (count <= 0) break;
    sent += static_cast<std::size_t>(count);
  }
  ::_exit(0);
}

// Everything up to the child's end; nothing if the time is over before.
std::optional<std::string> read_until(int fd, std::uint64_t timeout_ms) {
  const std::uint64_t deadline = monotonic_ns() + timeout_ms * 1'000'000;
  std::string text;
  while (true) {
    const std::uint64_t now = monotonic_ns();
    if (now >= deadline) return std::nullopt;
    pollfd one{fd, POLLIN, 0};
    const auto left_ms = static_cast<int>((deadline - now) / 1'000'000 + 1);
    const int ready = ::poll(&one, 1, left_ms);
    if (ready <= 0) continue;
    std::array<char, 4096> piece{};
    const ssize_t count = ::read(fd, piece.data(), piece.size());
    if (count == 0) return text;
    if (count > 0) text.append(piece.data(), static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) return text;
  }
}

}  // namespace

Status call_bounded(const std::function<Status()>& call, std::uint64_t timeout_ms,
                    const std::string& doing) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return os_error(errno, doing);
  Descriptor ours(ends[0]);
  Descriptor theirs(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return os_error(errno, doing);
  if (child == 0) {
    ::setpgid(0, 0);
    answer(theirs.get(), call);
  }
  ::setpgid(child, child);  // Whoever of the two comes first.
  theirs = Descriptor();
  const auto text = read_until(ours.get(), timeout_ms);
  if (!text) {
    ::kill(-child, SIGKILL);
    // Its end is collected if it comes at once; one that is stuck is left behind.
    ::waitpid(child, nullptr, WNOHANG);
    return Error{Errc::busy,
                 fmt::format("{}: it did not come back within {} s", doing, timeout_ms / 1000), ""};
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (text->empty()) {
    return Error{Errc::io, doing + ": the process that did it was ended", ""};
  }
  if (text->front() == succeeded) return Done{};
  return Error{static_cast<Errc>(text->front() - code_base), text->substr(1), ""};
}

}  // namespace headroom::machine
