// SPDX-License-Identifier: Apache-2.0
// What a machine of the protocol wants done next. A machine does nothing itself: whoever drives it
// does the action, on shared memory or on a model of it, and tells what came of it. Each action is
// at most one access to one shared word, so a rank can die between any two.
#pragma once

#include <cstdint>

#include "averager/protocol/words.h"

namespace headroom::averager::protocol {

enum class Verb : std::uint8_t {
  load,      // Returns the word.
  store,     // Writes `value`.
  exchange,  // Writes `value` if the word is `expected`; returns what was there before.
  ring,      // Counts the bell up and wakes who sleeps.
  sleep,  // Waits until the bell is not `expected` any more, or for a while; always allowed to end.
  publish,   // Makes this rank's input and its description complete.
  compare,   // Compares the descriptions of the ranks in `mask`; returns the number of chunks to
             // work on.
  sum,       // Sums the `chunk` of the ranks in `mask` into this rank's scratch.
  push,      // Copies the scratch of rank `scratch` into the `chunk` of every rank in `mask`.
  collect,   // The `chunk` is done: takes it where this rank's input was copied in.
  finished,  // Nothing more to do: see the machine's outcome.
};

struct Action {
  Verb verb = Verb::finished;
  Word word = {};
  std::uint64_t expected = 0;
  std::uint64_t value = 0;
  std::uint32_t chunk = 0;
  RankMask mask = 0;
  std::uint8_t scratch = 0;
};

// Who a machine is.
struct Self {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  std::uint32_t slots = 2;  // How many buckets can be in flight.
  std::uint32_t incarnation = 1;

  std::uint64_t life_word() const {
    return to_word(LifeWord{.incarnation = incarnation, .life = Life::member});
  }
  std::uint32_t slot(Bucket bucket) const { return bucket % slots; }
};

}  // namespace headroom::averager::protocol
