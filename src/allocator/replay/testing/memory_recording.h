// SPDX-License-Identifier: Apache-2.0
// For tests: a flight recorder's file in memory, with a clock that advances at each reading.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/forensics/flight_shard.h"
#include "allocator/replay/recording.h"

namespace headroom::allocator {

class CountingClock final : public FlightClock {
 public:
  std::uint64_t now_us() override { return now_ += 10; }

 private:
  std::uint64_t now_ = 0;
};

// A recorder's file in memory.
class MemoryFile {
 public:
  // `has_device_ring`: the last of the rings is the device's.
  explicit MemoryFile(std::uint32_t shards = 1, std::uint64_t records = 64,
                      bool has_device_ring = false) {
    std::memcpy(header_.magic.data(), flight_magic.data(), flight_magic.size());
    header_.shards = shards;
    header_.device_ring = has_device_ring ? shards : 0;
    header_.shard_records = records;
    header_.name_bytes = 100;
    header_.capacity_bytes = std::uint64_t{64} << 20U;
    header_.pid = 4711;
    header_.start_unix_us = 1000000;
    std::memcpy(header_.device.data(), "Radeon", 6);
    words_.resize(layout_of(header_).end / sizeof(std::uint64_t));
    for (std::uint32_t i = 0; i < shards; ++i) {
      FlightShard::Memory memory;
      memory.records =
          words_.data() + layout_of(header_).records / 8 + i * records * flight_record_bytes / 8;
      memory.written = written(i);
      if (has_device_ring && i + 1 < shards) memory.device_written = written(shards - 1);
      memory.count = records;
      memory.alive = &alive_;
      shards_.emplace_back(memory, clock_);
    }
  }

  FlightShard& shard(std::size_t i = 0) { return shards_[i]; }
  FlightShard& device() { return shards_.back(); }
  FlightHeader& header() { return header_; }
  std::uint64_t& record_word(std::size_t record, std::size_t word) {
    return words_[layout_of(header_).records / 8 + record * 4 + word];
  }
  void stop() { alive_ = 0; }
  void add_name(std::string_view name) {
    bytes_at(layout_of(header_).names)[name_bytes_] = static_cast<char>(name.size());
    name.copy(bytes_at(layout_of(header_).names) + name_bytes_ + 1, name.size());
    name_bytes_ += 1 + name.size();
  }
  std::string bytes() {
    std::memcpy(words_.data(), &header_, sizeof header_);
    return {bytes_at(0), words_.size() * sizeof(std::uint64_t)};
  }
  Recording read() {
    auto recording = parse_flight_record(bytes());
    EXPECT_TRUE(recording) << recording.error().message;
    return *recording;
  }

 private:
  std::uint64_t* written(std::uint32_t ring) {
    return words_.data() + layout_of(header_).shards / 8 + ring * flight_shard_bytes / 8;
  }
  char* bytes_at(std::size_t offset) { return reinterpret_cast<char*>(words_.data()) + offset; }

  FlightHeader header_;
  std::vector<std::uint64_t> words_;
  CountingClock clock_;
  std::uint64_t alive_ = 1;
  std::vector<FlightShard> shards_;
  std::size_t name_bytes_ = 0;
};

}  // namespace headroom::allocator
