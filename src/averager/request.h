// SPDX-License-Identifier: Apache-2.0
// What a caller asks of the averager for one bucket, and what came of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "averager/kernels.h"
#include "averager/protocol/words.h"

namespace headroom::averager {

enum class Kind : std::uint32_t {
  average = 0,
  sum = 1,
  broadcast = 2,  // Everyone gets what `root` has.
  step = 3,       // The border of a step: no data, and ranks that come back are admitted.
};

struct Request {
  Kind kind = Kind::average;
  ElementType type = ElementType::float32;
  std::byte* data = nullptr;
  std::uint64_t elements = 0;
  std::uint32_t root = 0;
  // Whose inputs make the result is decided for each piece anew, see Averager. Not for a broadcast,
  // nor where a lost rank is to leave the data as they were: those are always whole.
  bool in_pieces = false;

  std::uint64_t bytes() const { return elements * bytes_of(type); }
};

// Whose inputs made the result, and how that differs from what was expected. All ranks get the
// same.
struct Outcome {
  protocol::RankMask present = 0;
  protocol::RankMask lost = 0;  // Were expected, and died or left before their input was complete.
  protocol::RankMask joined = 0;  // Take part from the next bucket on.
};

// What happens to a bucket for which a rank is lost.
enum class Policy : std::uint32_t {
  finish = 0,  // It is averaged over those present.
  fail = 1,    // It fails on all ranks, and the data stay as they were.
};

}  // namespace headroom::averager
