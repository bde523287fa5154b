// SPDX-License-Identifier: Apache-2.0
// A rank brings its input of one bucket: it waits until nobody uses the bucket's slot any more,
// publishes the input and says so.
#pragma once

#include "averager/protocol/action.h"

namespace headroom::averager::protocol {

class Arrival {
 public:
  Arrival(const Self& self, Bucket bucket) : self_(self), bucket_(bucket) {}

  Action action() const;
  // `result` is what the action returned, 0 where it returns nothing.
  void took(std::uint64_t result);

  // Whether the others went on without this rank, which then must not touch shared memory again.
  bool is_expelled() const { return step_ == Step::expelled; }
  // Whom it was waiting for when it last wanted to sleep.
  RankMask waits_for() const { return waits_for_; }

 private:
  friend struct Fingerprint;
  enum class Step : std::uint8_t {
    load_bell,
    load_life,
    load_finished,
    sleep,
    load_own_life,
    publish,
    load_arrived,
    write_arrived,
    ring,
    finished,
    expelled
  };
  void next_rank();

  Self self_;
  Bucket bucket_ = 0;
  Step step_ = Step::load_bell;
  std::uint32_t rank_ = 0;
  RankMask waits_for_ = 0;
  std::uint64_t bell_ = 0;
  std::uint64_t arrived_ = 0;
};

}  // namespace headroom::averager::protocol
