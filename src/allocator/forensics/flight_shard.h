// SPDX-License-Identifier: Apache-2.0
// The writing end of one ring of a flight recorder, which the allocator's core calls for every
// event. It knows memory and a clock, not files; FlightRecorder (allocator/files) creates it.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "allocator/forensics/flight_record.h"

namespace headroom::allocator {

class FlightClock {
 public:
  virtual ~FlightClock() = default;
  virtual std::uint64_t now_us() = 0;  // Since the recorder's start.
};

// One thread at a time may use a shard: whoever holds the lock of the heap that it belongs to.
class FlightShard {
 public:
  // The memory that the shard writes to; all of it outlives the shard.
  struct Memory {
    std::uint64_t* records = nullptr;  // Four words for each record.
    std::uint64_t* written = nullptr;
    std::uint64_t count = 0;               // How many records: a power of two.
    const std::uint64_t* alive = nullptr;  // 0 in a forked child, whose events are not ours.
    // How many events the device's ring has written; null if there is no such ring, or if this is
    // it.
    std::uint64_t* device_written = nullptr;
  };

  FlightShard(Memory memory, FlightClock& clock) : memory_(memory), clock_(&clock) {}

  // Writes the event; its own time is ignored. Reading the clock for each would be too slow:
  // allocations, frees and retags get the time of the last reading, at most 16 events before. The
  // clock is read for all other events, which are rare and slow anyway, and for whatever follows an
  // event of the device. So the order between rings is right wherever memory changes hands through
  // the device.
  void note(const FlightEvent& event) {
    if (*memory_.alive == 0) return;
    if (device_has_moved() || (number_ & 15U) == 0 || event.kind > FlightKind::retag)
      time_us_ = clock_->now_us();
    const FlightWords words = to_words(event, number_, time_us_);
    std::uint64_t* record = memory_.records + (number_ & (memory_.count - 1)) * words.size();
    // Nobody else writes here; the order matters to whoever reads after this process was killed. It
    // is not kept by fences, because the thread sanitizer does not understand them.
    store(record[0], 0, std::memory_order_relaxed);
    for (std::size_t i = 1; i < words.size(); ++i)
      store(record[i], words[i], std::memory_order_release);
    store(record[0], words[0], std::memory_order_release);
    store(*memory_.written, ++number_, std::memory_order_release);
  }

  std::uint64_t written() const { return number_; }

 private:
  bool device_has_moved() {
    if (memory_.device_written == nullptr) return false;
    const std::uint64_t now =
        std::atomic_ref(*memory_.device_written).load(std::memory_order_relaxed);
    return std::exchange(device_seen_, now) != now;
  }
  static void store(std::uint64_t& word, std::uint64_t value, std::memory_order order) {
    std::atomic_ref<std::uint64_t>(word).store(value, order);
  }

  Memory memory_;
  FlightClock* clock_;
  std::uint64_t number_ = 0;
  std::uint64_t time_us_ = 0;
  std::uint64_t device_seen_ = 0;
};

}  // namespace headroom::allocator
