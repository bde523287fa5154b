// SPDX-License-Identifier: Apache-2.0
// A hash of the state of machines, for the explorer. Of the bell only matters whether it has rung
// since a machine looked: it is never seen to have a value twice.
#pragma once

#include <cstdint>

#include "averager/protocol/arrival.h"
#include "averager/protocol/joining.h"
#include "averager/protocol/reduction.h"

namespace headroom::averager::protocol {

struct Fingerprint {
  std::uint64_t value = 0x9e37'79b9'7f4a'7c15ULL;
  std::uint64_t bell = 0;

  void add(std::uint64_t word) {
    value ^= word + 0x9e37'79b9'7f4a'7c15ULL + (value << 6U) + (value >> 2U);
    value *= 0xff51'afd7'ed55'8ccdULL;
    value ^= value >> 33U;
  }
  template <class... Words>
  void add_all(Words... words) {
    (add(static_cast<std::uint64_t>(words)), ...);
  }
  void add(const Arrival& m) {
    add_all(1, m.bucket_, m.step_, m.rank_, m.waits_for_, m.bell_ == bell);
    if (m.step_ == Arrival::Step::write_arrived) add(m.arrived_);
  }
  void add(const Reduction& m) {
    using S = Reduction::Step;
    add_all(2, m.bucket_, m.step_, m.expected_, m.chunks_only_, m.looks_at_workers_,
            m.bell_ == bell);
    if (m.chunks_only_)
      add_all(m.position_, m.first_open_, m.decision_.present, m.decision_.next, m.scratch_);
    if (m.step_ == S::load_life || m.step_ == S::load_arrived || m.step_ == S::write_decided)
      add_all(m.rank_, m.live_, m.joining_, m.seen_);
    if (m.step_ == S::write_decided) add(m.arrived_);
    if (m.step_ == S::compare || m.step_ == S::ring_decided) add(to_word(m.decision_));
    if (m.step_ == S::load_worker || m.step_ == S::take) add(m.seen_);
  }
  void add(const Joining& m) {
    add_all(3, m.step_, m.asked_, m.index_, m.live_, m.waits_for_, m.bell_ == bell, m.knows_newest_,
            m.is_admitted_, m.newest_.bucket, m.newest_.present, m.newest_.next);
  }
};

}  // namespace headroom::averager::protocol
