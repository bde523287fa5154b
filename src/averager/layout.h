// SPDX-License-Identifier: Apache-2.0
// How the segment is laid out: a header that says what job it belongs to, the words of the
// protocol, and for each rank a scratch of one chunk and an arena for its buckets. Everything is
// found by offsets, because each process maps the segment elsewhere.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "averager/protocol/words.h"

namespace headroom::averager {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t line_bytes = 64;

// What all ranks of a job must agree on. Part of the file, so it has a fixed size and no padding.
struct Terms {
  std::uint64_t job = 0;  // The caller's number for the job.
  std::uint64_t arena_bytes = 0;
  std::uint32_t ranks = 0;
  std::uint32_t slots = 0;
  std::uint32_t chunk_bytes = 0;
  std::uint32_t policy = 0;
  bool operator==(const Terms&) const = default;
};

struct Header {
  static constexpr std::uint64_t magic_word =
      0x6865'6164'6176'6731;  // "headavg1", with its version.
  std::uint64_t magic = 0;    // Written last.
  Terms terms;
  std::uint64_t pid_namespace = 0;
  std::uint64_t total_bytes = 0;
};

// One rank. The words have lines of their own, because each is written by another process.
struct Member {
  alignas(line_bytes) std::atomic<std::uint64_t> life;
  // Which process it is. Written under the file's lock; the others read it without, and look at
  // `life` again afterwards.
  std::atomic<std::uint64_t> pid;
  std::atomic<std::uint64_t> started;
  alignas(line_bytes) std::atomic<std::uint64_t> finished;
  alignas(line_bytes) std::atomic<std::uint64_t> beats;  // Counts up while the process runs.
};

// What a rank brings to a bucket.
struct Description {
  std::uint64_t elements = 0;  // Of the whole bucket, also where this is a piece of it.
  std::uint64_t offset = 0;    // In its arena.
  std::uint32_t type = 0;
  std::uint32_t kind = 0;
  std::uint32_t root = 0;
  std::uint32_t in_pieces = 0;
};

struct Slot {
  alignas(line_bytes) std::atomic<std::uint64_t> arrived;
  alignas(line_bytes) std::atomic<std::uint64_t> decided;
  std::array<Description, protocol::max_ranks> descriptions;
};

// The beginning of the segment. Memory that is all zero is a valid one without members.
struct Control {
  Header header;
  alignas(line_bytes) std::atomic<std::uint32_t> bell;
  alignas(line_bytes) std::atomic<std::uint32_t> sleepers;
  std::array<Member, protocol::max_ranks> members;
  std::array<Slot, protocol::max_slots> slots;
};

// Where the rest begins, from the segment's beginning.
struct Layout {
  explicit constexpr Layout(const Terms& terms)
      : chunks_per_slot(terms.arena_bytes / terms.chunk_bytes + 1),
        chunks(rounded(sizeof(Control))),
        scratch(rounded(chunks + terms.slots * chunks_per_slot * sizeof(std::uint64_t))),
        arenas(scratch + terms.ranks * rounded(terms.chunk_bytes)),
        total(arenas + terms.ranks * terms.arena_bytes) {}

  static constexpr std::uint64_t rounded(std::uint64_t bytes) {
    return (bytes + page_bytes - 1) / page_bytes * page_bytes;
  }

  std::uint64_t chunks_per_slot;
  std::uint64_t chunks;
  std::uint64_t scratch;
  std::uint64_t arenas;
  std::uint64_t total;
};

}  // namespace headroom::averager
