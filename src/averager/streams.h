// SPDX-License-Identifier: Apache-2.0
// Bytes from one rank to another, in the same segment as the buckets that are averaged: each rank
// has, in its own arena, a ring for the rank behind it and one for the rank before it. A rank that
// dies or leaves is noticed as it is for buckets (averager/peer_watch.h), by every rank that waits.
//
// Messages have no bounds here: the reader knows how many bytes it wants. A ring holds at least
// `message_bytes`, so whoever sends no larger message, and none before the last one was read, never
// waits for its reader.
//
// One thread of each rank calls.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "averager/averager.h"
#include "base/result.h"

namespace headroom::averager {

class Streams {
 public:
  // Of a rank's arena, beside what else is allocated in it.
  static std::uint64_t bytes_for(std::uint64_t message_bytes);

  // Requires: every rank makes its streams with the same size and after the same allocations. The
  // averager outlives this. Fails where the arena has no room.
  static Result<Streams> make(Averager& averager, std::uint64_t message_bytes);

  // To the next rank, or to the one before. Blocks while the ring is full. Returns false, and
  // nothing of the message counts, if a rank has interrupted the round. Fails with io if a rank has
  // died or left. Requires: there is such a rank.
  Result<bool> send(std::uint32_t to, const std::byte* data, std::uint64_t bytes);
  Result<bool> receive(std::uint32_t from, std::byte* into, std::uint64_t bytes);

  // Ends the round for all: whoever sends or receives, or will, is told so.
  void interrupt();
  // After an interruption, begins the next round; what was not read is dropped. Requires: all ranks
  // do it, with no rank sending or receiving between the first that does and the last.
  void restart();

 private:
  struct Ring {
    alignas(line_bytes) std::atomic<std::uint64_t> written;
    alignas(line_bytes) std::atomic<std::uint64_t> read;
  };
  // At the beginning of what a rank has allocated. All zero is its beginning.
  struct Head {
    alignas(line_bytes) std::atomic<std::uint64_t> interrupted;  // The round.
    Ring forward;                                                // To the next rank.
    Ring back;                                                   // To the one before.
  };

  struct Lane {
    Ring* ring;
    std::byte* room;
  };

  Streams(Averager& averager, std::uint64_t offset, std::uint64_t room)
      : averager_(&averager), offset_(offset), room_(room) {}
  Head& head(std::uint32_t rank) const;
  Lane lane(std::uint32_t from, std::uint32_t to) const;
  bool is_interrupted() const;
  // Until the word is not `seen` any more; false if the round was interrupted.
  Result<bool> wait(const std::atomic<std::uint64_t>& word, std::uint64_t seen,
                    std::uint32_t peer) const;

  Averager* averager_;
  std::uint64_t offset_;  // In every rank's arena.
  std::uint64_t room_;    // Of one ring.
  std::uint64_t round_ = 1;
};

}  // namespace headroom::averager
