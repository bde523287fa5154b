// SPDX-License-Identifier: Apache-2.0
// A new process takes the place of a rank that died or left while the others went on. It waits
// until nobody expects the old one, asks to join, is admitted by the decision on a bucket that
// admits (the border of a step), and touches its part of the memory only when nobody works on a
// bucket of before any more.
#pragma once

#include "averager/protocol/action.h"

namespace headroom::averager::protocol {

class Joining {
 public:
  // `self.incarnation` is the new one's. Requires: the rank's life is neither joining nor member.
  explicit Joining(const Self& self) : self_(self) {}

  Action action() const;
  void took(std::uint64_t result);

  // Nobody is left to join.
  bool is_alone() const { return step_ == Step::alone; }
  // The decision that admitted this rank: its first bucket is the next one. Requires: finished.
  const Decision& admitted_by() const { return newest_; }
  RankMask waits_for() const { return waits_for_; }

 private:
  friend struct Fingerprint;
  enum class Step : std::uint8_t {
    load_bell,
    load_life,
    load_decided,
    sleep,
    write_finished,
    write_joining,
    ring_joining,
    write_first,
    load_others_life,
    load_others_finished,
    write_member,
    ring_member,
    finished,
    alone
  };
  void found_decisions();
  void next_other();

  Self self_;
  Step step_ = Step::load_bell;
  bool asked_ = false;
  std::uint32_t index_ = 0;  // A rank or a slot.
  RankMask live_ = 0;
  RankMask waits_for_ = 0;
  std::uint64_t bell_ = 0;
  bool knows_newest_ = false;
  bool is_admitted_ = false;
  Decision newest_ = {};
};

}  // namespace headroom::averager::protocol
