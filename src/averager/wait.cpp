// SPDX-License-Identifier: Apache-2.0
#include "averager/wait.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

#include <climits>

namespace headroom::averager {
namespace {

constexpr std::uint64_t ms_per_s = 1000;
constexpr long ns_per_ms = 1'000'000;
constexpr int looks = 2000;  // Some 20 to 80 µs.

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

timespec to_timespec(std::uint64_t duration_ms) {
  return {.tv_sec = static_cast<time_t>(duration_ms / ms_per_s),
          .tv_nsec = static_cast<long>(duration_ms % ms_per_s) * ns_per_ms};
}

// The word lies in memory that processes share, so the private variants of the call do not do.
long futex(std::atomic<std::uint32_t>* word, int operation, std::uint32_t value,
           const timespec* timeout) {
  return ::syscall(SYS_futex, word, operation, value, timeout, nullptr, 0);
}

}  // namespace

std::uint64_t now_ms() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * ms_per_s +
         static_cast<std::uint64_t>(now.tv_nsec / ns_per_ms);
}

void rest_ms(std::uint32_t duration_ms) {
  const timespec duration = to_timespec(duration_ms);
  ::nanosleep(&duration, nullptr);
}

void Bell::ring() {
  count_->fetch_add(1);
  if (sleepers_->load() != 0) futex(count_, FUTEX_WAKE, INT_MAX, nullptr);
}

void Bell::wait(std::uint32_t seen, std::uint32_t most_ms) {
  for (int look = 0; look < looks; ++look) {
    if (count_->load(std::memory_order_acquire) != seen) return;
    relax();
  }
  // Counted first: whoever rings after this load of the kernel's wakes us, whoever rang before
  // changed the count, which the kernel compares.
  sleepers_->fetch_add(1);
  const timespec timeout = to_timespec(most_ms);
  futex(count_, FUTEX_WAIT, seen, &timeout);
  sleepers_->fetch_sub(1);
}

}  // namespace headroom::averager
