// SPDX-License-Identifier: Apache-2.0
// A moment of waiting between reads of a pipe that is flooded in small pieces. What gathers
// meanwhile is read at once: far fewer system calls, and fewer turns of writer and reader that wait
// for each other. A pipe that is not flooded is never waited for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headroom::machine {

class Gathering {
 public:
  // Requires: made in the thread that reads. Its timers become as fine as the system has them.
  Gathering();
  // After each read that brought `count` bytes; waits where that was little of a flood.
  void after(std::size_t count);

 private:
  std::uint64_t window_ms_ = 0;
  std::size_t in_window_ = 0;
  bool is_flood_ = false;  // By what the last window brought.
};

}  // namespace headroom::machine
