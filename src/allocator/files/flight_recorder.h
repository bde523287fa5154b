// SPDX-License-Identifier: Apache-2.0
// A flight recorder: a file mapped into memory, so that what was written is in the kernel's hands
// at once and survives the process, however it ends. It does not survive the machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/forensics/flight_shard.h"
#include "allocator/forensics/name_table.h"
#include "base/mutex.h"
#include "base/result.h"

namespace headroom::allocator {

struct FlightOptions {
  std::uint32_t shards = 1;  // Rings, each with one writer at a time; the device's besides.
  std::uint64_t shard_records = 65536;  // Rounded up to a power of two.
  std::uint64_t name_bytes = 65536;     // Room for tensor names; later ones are left out.
  std::uint64_t capacity_bytes = 0;     // Of the allocator …
  std::string device = {};              // … and its device's name, for who reads.
};

// How long such a recording's file is.
std::uint64_t flight_file_bytes(const FlightOptions& options);

// Threads: each shard belongs to one at a time, different shards to different ones; add_names() may
// be called from any. A forked child notes nothing.
class FlightRecorder {
 public:
  // Takes all of the file's space at once, so that a full disk is an Error here and not a signal
  // later. Replaces an older recording, but none that
  // is still being written (busy), and no file of another kind.
  static Result<std::unique_ptr<FlightRecorder>> create(const std::string& path,
                                                        const FlightOptions& options);
  // Marks the recording as ended in order. The file stays.
  ~FlightRecorder();
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;

  std::uint32_t shards() const { return static_cast<std::uint32_t>(shards_.size() - 1); }
  FlightShard& shard(std::uint32_t number) { return shards_[number]; }
  // For what is taken from the device and given back.
  FlightShard& device_shard() { return shards_.back(); }

  // Writes the names that came since the last call. Call it after a new one, before events use it.
  void add_names(const NameTable& names);

 private:
  class Clock;
  class Mapping;
  FlightRecorder(std::unique_ptr<Mapping> mapping, std::unique_ptr<Clock> clock);

  std::unique_ptr<Mapping> mapping_;
  std::unique_ptr<Clock> clock_;
  std::vector<FlightShard> shards_;  // The device's is the last.
  Mutex names_mutex_;
  std::size_t names_written_ HEADROOM_GUARDED_BY(names_mutex_) = 0;
  std::size_t name_bytes_written_ HEADROOM_GUARDED_BY(names_mutex_) = 0;
};

}  // namespace headroom::allocator
