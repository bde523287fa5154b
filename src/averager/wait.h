// SPDX-License-Identifier: Apache-2.0
// Time as the averager needs it: a clock that stands still while the machine is suspended, and
// waits for the bell of a segment.
#pragma once

#include <atomic>
#include <cstdint>

namespace headroom::averager {

std::uint64_t now_ms();
void rest_ms(std::uint32_t duration_ms);

class Deadline {
 public:
  explicit Deadline(std::uint64_t wait_ms) : end_ms_(now_ms() + wait_ms) {}
  bool has_passed() const { return now_ms() >= end_ms_; }

 private:
  std::uint64_t end_ms_;
};

// The bell of a segment: counted up at each change that somebody may wait for.
class Bell {
 public:
  Bell(std::atomic<std::uint32_t>& count, std::atomic<std::uint32_t>& sleepers)
      : count_(&count), sleepers_(&sleepers) {}

  std::uint32_t count() const { return count_->load(); }
  void ring();
  // Returns when the count is not `seen` any more, or after `most_ms`: first looks for a short
  // while, because what is waited for is mostly a chunk away, then sleeps in the kernel.
  void wait(std::uint32_t seen, std::uint32_t most_ms);

 private:
  std::atomic<std::uint32_t>* count_;
  // How many may sleep. A rank that dies asleep stays counted, which costs calls and nothing else.
  std::atomic<std::uint32_t>* sleepers_;
};

}  // namespace headroom::averager
