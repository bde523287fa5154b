// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/relay_passing.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <utility>

#include "machine/clock.h"
#include "machine/os_error.h"
#include "machine/tree/gathering.h"
#include "machine/tree/relay_ends.h"

namespace headroom::machine {
namespace {

constexpr std::size_t ring_bytes = std::size_t{8} << 20U;
constexpr std::size_t piece_bytes = std::size_t{128} << 10U;   // Read and written at once.
constexpr std::size_t reading_bytes = std::size_t{64} << 10U;  // For the reader at once.

// Signals are for those who wait for them, and a pipe without a reader is an errno here. Those that
// stop a process in the background when it writes to its terminal do so as ever.
void hold_signals_back() {
  sigset_t held;
  sigfillset(&held);
  for (const int signal : {SIGTTOU, SIGTTIN, SIGTSTP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    sigdelset(&held, signal);
  pthread_sigmask(SIG_BLOCK, &held, nullptr);
}

bool can_break(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

void raise_event(int event) {
  const std::uint64_t one = 1;
  (void)!::write(event, &one, sizeof one);
}

// 0, or the errno that ended it; ECANCELED where `cancel` became readable before all was taken.
int write_until(int fd, std::string_view bytes, int cancel, const std::atomic<bool>& is_cancelled) {
  while (!bytes.empty()) {
    if (is_cancelled.load(std::memory_order_relaxed)) return ECANCELED;
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      // It was made so that writing does not wait, by somebody who shares it; we wait in its place.
      std::array<pollfd, 2> watched{{{fd, POLLOUT, 0}, {cancel, 0, 0}}};
      constexpr int look_again_ms = 100;
      ::poll(watched.data(), watched.size(), look_again_ms);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

RelayPassing::RelayPassing(Descriptor reading, int target, Relay::Reader reader)
    : reading_(std::move(reading)),
      target_(target),
      reader_(std::move(reader)),
      ring_(ring_bytes),
      breaks_(can_break(target)),
      is_writing_(target >= 0 && ::fcntl(target, F_GETFD) >= 0) {}

Status RelayPassing::prepare() {
  stop_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  done_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (stop_.get() < 0 || done_.get() < 0) return os_error(errno, "making an event");
  return Done{};
}

RelayPassing::Next RelayPassing::read_some(std::span<char> space, std::size_t& count) {
  const ssize_t got = ::read(reading_.get(), space.data(), space.size());
  if (got > 0) {
    count = static_cast<std::size_t>(got);
    return Next::some;
  }
  count = 0;
  if (got < 0 && errno == EINTR) return Next::some;
  if (got < 0 && errno == EAGAIN) return was_told_ ? Next::left : wait_for_some();
  return Next::ended;  // EIO is how a terminal ends.
}

// Waits for bytes, for the end, for being told to stop, and for the reader of the target to go
// away: then the command is to notice with its next write, and not with the one after that.
RelayPassing::Next RelayPassing::wait_for_some() {
  std::array<pollfd, 3> watched{{{reading_.get(), POLLIN, 0},
                                 {stop_.get(), POLLIN, 0},
                                 {breaks_ && is_writing_ ? target_ : -1, 0, 0}}};
  ::poll(watched.data(), watched.size(), -1);
  if (watched[2].revents != 0) return Next::left;
  if (watched[1].revents != 0) was_told_ = true;
  return is_abandoned_.load() ? Next::left : Next::some;
}

// Returns false where there is no use in going on.
bool RelayPassing::write_out(std::string_view piece) {
  if (!is_writing_) return true;
  const int number = write_until(target_, piece, stop_.get(), is_abandoned_);
  if (number == 0) {
    bytes_.fetch_add(piece.size(), std::memory_order_relaxed);
    if (!piece.empty()) is_in_line_.store(piece.back() != '\n', std::memory_order_relaxed);
    return true;
  }
  if (number == EPIPE || number == ECANCELED) return false;
  is_writing_ = false;
  if (number != EBADF) {  // It was closed for us as well: nobody wants it.
    const MutexLock lock(mutex_);
    problem_ = os_error(number, "passing on what the command writes");
  }
  return true;
}

void RelayPassing::pass_on() {
  hold_signals_back();
  Gathering gathering;
  Next next = Next::some;
  // Whoever still writes when no more is wanted gets that far and no further.
  std::size_t last_bytes = ring_bytes;
  while (next == Next::some) {
    const std::span<char> space = ring_.reserve(piece_bytes);
    std::size_t count = 0;
    next = read_some(space, count);
    if (count == 0) continue;
    const bool goes_on = write_out({space.data(), count});
    ring_.commit(count);
    gathering.after(count);
    if (!goes_on) next = Next::left;
    if (!was_told_) continue;
    if (count >= last_bytes) break;
    last_bytes -= count;
  }
  has_ended_ = next == Next::ended;
  ring_.close();
  close_reading();
  raise_event(done_.get());
}

void RelayPassing::read_along() {
  hold_signals_back();
  constexpr int lowest = 19;
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), lowest);
  const auto buffer = std::make_unique_for_overwrite<char[]>(reading_bytes);
  while (!is_handed_over_.load() && read_piece(buffer.get())) {
  }
}

// False at the end.
bool RelayPassing::read_piece(char* buffer) {
  std::uint64_t left_out = 0;
  const std::string_view piece = ring_.read({buffer, reading_bytes}, left_out);
  if (piece.empty()) return false;
  reader_(piece, left_out);
  // Being woken for every line would cost who passes on more than the line does.
  if (piece.size() < reading_bytes && !is_handed_over_.load()) sleep_ms(2);
  return true;
}

void RelayPassing::read_rest() {
  const auto buffer = std::make_unique_for_overwrite<char[]>(reading_bytes);
  while (read_piece(buffer.get())) {
  }
}

// The command gets SIGPIPE for what it writes from here on.
void RelayPassing::close_reading() {
  const MutexLock lock(mutex_);
  reading_ = Descriptor();
}

bool RelayPassing::copy_window_size() {
  const MutexLock lock(mutex_);
  return reading_.get() >= 0 && copy_terminal_size(target_, reading_.get());
}

void RelayPassing::stop_reading() {
  raise_event(stop_.get());
}

void RelayPassing::abandon() {
  is_abandoned_ = true;
  ring_.abandon();
  raise_event(stop_.get());
}

std::optional<Error> RelayPassing::problem() const {
  const MutexLock lock(mutex_);
  return problem_;
}

}  // namespace headroom::machine
