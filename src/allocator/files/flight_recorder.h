// SPDX-License-Identifier: Apache-2.0
// A flight recorder writes events to a file that is mapped into memory. The kernel has what was
// written at once, so it survives the process, however that ends, but not a crash of the machine.
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
  std::uint32_t shards = 1;  // Rings, each with one writer at a time; the device's is extra.
  std::uint64_t shard_records = 65536;  // Rounded up to a power of two.
  std::uint64_t name_bytes = 65536;     // Room for tensor names; later ones are left out.
  std::uint64_t capacity_bytes = 0;     // The allocator's …
  std::string device = {};              // … and its device's name, for readers.
};

// The length of the file for these options.
std::uint64_t flight_file_bytes(const FlightOptions& options);

// Each shard is used by one thread at a time; different threads may use different shards. Any
// thread may call add_names(). A forked child records nothing.
class FlightRecorder {
 public:
  // Allocates all of the file's space at once, so that a full disk is an Error here and not a
  // signal later. Replaces an older recording. Fails with busy if that is still being written, and
  // also fails if the file is of another kind.
  static Result<std::unique_ptr<FlightRecorder>> create(const std::string& path,
                                                        const FlightOptions& options);
  // Marks the recording as properly ended. The file stays.
  ~FlightRecorder();
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;

  std::uint32_t shards() const { return static_cast<std::uint32_t>(shards_.size() - 1); }
  FlightShard& shard(std::uint32_t number) { return shards_[number]; }
  // The ring for what is taken from the device and given back.
  FlightShard& device_shard() { return shards_.back(); }

  // Writes the names that are new since the last call. Call it after adding a name, before events
  // use it.
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
