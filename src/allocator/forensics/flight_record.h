// SPDX-License-Identifier: Apache-2.0
// The format of the flight recorder's file, which holds the last events of an allocator and can be
// read after the process was killed at any instruction. It is little-endian, in this order:
//
//   header   4096 bytes: magic, version, sizes, who wrote it (FlightHeader)
//   names    name_bytes bytes: tensor names one after the other, each a length byte and its text
//   shards   64 bytes each: how many records the shard has written (u64), zeros
//   records  shard after shard, a ring of shard_records records of 32 bytes
//
// Record number n (from 0) of a shard lies at n modulo shard_records. It has four 64-bit words:
//
//   0  bits 63: 1; 62…32: the low 31 bits of n; 31…24: kind; 23…16: tag; 15…0: stream
//   1  address
//   2  bits 63…16: bytes; 15…0: name
//   3  bits 63…20: microseconds since the start; 19…0: bytes less what was requested
//
// A writer sets word 0 to zero, writes the other words, and writes word 0 last, so an unfinished
// record can be told from a finished one. Numbers that do not fit are replaced by the largest that
// does.
//
// Blocks come and go thousands of times as often as device memory does. So what is taken from the
// device and given back has a ring of its own, where the events of blocks cannot push it out; from
// it a reader knows what memory lay behind the blocks. Older recordings have no such ring: their
// header's device_ring is zero, and everything else is the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "allocator/policy.h"

namespace headroom::allocator {

enum class FlightKind : std::uint8_t {
  allocate = 1,
  free,         // The block at `address`; bytes, stream, tag and name are the block's.
  retag,        // `tag` and `name` are the new ones.
  synchronize,  // The program waited for `stream`.
  // These are in the device's ring; `stream` is the one whose request it was for.
  segment_allocate,  // A plain allocation was taken from the device …
  segment_free,      // … and given back.
  map,               // A stretch of pages was mapped at `address` …
  unmap,             // … and unmapped, as a whole or in part.
  repair,            // Free pages were moved to `address`; their events came before.
  // These are in the other rings again.
  iteration,  // An iteration begins: `address` is its number, `bytes` is what was live.
  refuse,     // A request of `bytes` could not be met; `address` is how many were free.
};
inline constexpr std::uint8_t last_flight_kind = 11;

struct FlightEvent {
  FlightKind kind = FlightKind::allocate;
  Component tag = Component::other;
  StreamId stream = 0;  // 65535 stands for all above 65534.
  NameId name = 0;
  Address address = 0;
  std::uint64_t bytes = 0;      // Below 2^48.
  std::uint64_t requested = 0;  // For allocate and free: at most 1 MiB - 1 less than `bytes`.
  std::uint64_t time_us = 0;    // Since the start; below 2^44, which is half a year.

  bool operator==(const FlightEvent&) const = default;
};

inline constexpr std::string_view flight_magic = "HRFLIGHT";
inline constexpr std::uint32_t flight_version = 1;
inline constexpr std::size_t flight_header_bytes = 4096;
inline constexpr std::size_t flight_shard_bytes = 64;
inline constexpr std::size_t flight_record_bytes = 32;

// The first bytes of the file. Every number is little-endian, as x86-64 and AArch64 have it in
// memory.
struct FlightHeader {
  std::array<char, 8> magic = {};
  std::uint32_t version = flight_version;
  std::uint32_t shards = 0;         // 1 to 1024.
  std::uint64_t shard_records = 0;  // A power of two.
  std::uint64_t name_bytes = 0;
  std::uint64_t capacity_bytes = 0;   // The allocator's capacity.
  std::uint64_t pid = 0;              // The writer's process number …
  std::uint64_t pid_start = 0;        // … and field 22 of its /proc/PID/stat.
  std::uint64_t start_unix_us = 0;    // The moment when time_us was 0.
  std::uint64_t closed = 0;           // 1 if the writer ended in order.
  std::array<char, 128> device = {};  // The device's name, then zeros.
  std::uint64_t device_ring = 0;  // The number of the device's ring, from 1; 0 if there is none.
};
static_assert(sizeof(FlightHeader) == 208);

// Offsets of the file's parts. Requires: the numbers in the header were checked.
struct FlightLayout {
  std::size_t names = 0;
  std::size_t shards = 0;
  std::size_t records = 0;
  std::size_t end = 0;
};
FlightLayout layout_of(const FlightHeader& header);

using FlightWords = std::array<std::uint64_t, 4>;

constexpr std::uint64_t flight_mark(std::uint64_t number) {
  return (std::uint64_t{1} << 63U) | ((number & 0x7FFFFFFFU) << 32U);
}

constexpr std::uint64_t at_most(std::uint64_t value, std::uint64_t most) {
  return value < most ? value : most;
}

// This is in the header so that it is inlined to a few instructions for each event. `number` and
// `time_us` go into the record; the event's own time is ignored.
constexpr FlightWords to_words(const FlightEvent& event, std::uint64_t number,
                               std::uint64_t time_us) {
  constexpr std::uint64_t most_bytes = (std::uint64_t{1} << 48U) - 1;
  constexpr std::uint64_t most_time = (std::uint64_t{1} << 44U) - 1;
  constexpr std::uint64_t most_slack = (std::uint64_t{1} << 20U) - 1;
  const std::uint64_t bytes = at_most(event.bytes, most_bytes);
  const std::uint64_t slack = bytes - at_most(event.requested, bytes);
  return {flight_mark(number) | (static_cast<std::uint64_t>(event.kind) << 24U) |
              (static_cast<std::uint64_t>(event.tag) << 16U) | at_most(event.stream, 0xFFFF),
          event.address, (bytes << 16U) | event.name,
          (at_most(time_us, most_time) << 20U) | at_most(slack, most_slack)};
}

}  // namespace headroom::allocator
