// SPDX-License-Identifier: Apache-2.0
// Does what a machine of the protocol wants, on the real segment, until it has finished. Waits are
// for a limited time each, so that nothing depends on a bell that a dying rank did not ring.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>

#include "averager/bucket_work.h"
#include "averager/peer_watch.h"
#include "averager/protocol/arrival.h"
#include "averager/protocol/joining.h"
#include "averager/protocol/reduction.h"

namespace headroom::averager {

class Driver {
 public:
  Driver(const Segment& segment, PeerWatch& watch, WatchTimes times)
      : segment_(&segment), watch_(&watch), times_(times) {}

  Status bring(protocol::Arrival& arrival, BucketWork& work);
  Status reduce(protocol::Reduction& reduction, BucketWork& work, Policy policy);
  // Fails with busy if it is not admitted within `wait_ms`.
  Status join(protocol::Joining& joining, std::uint32_t wait_ms);
  // Waits until every rank has come for the first time.
  Status meet(std::uint32_t wait_ms);
  // Waits until `is_ready`, asked after each ring. Fails with io once a rank is not there any more.
  Status wait_for(std::uint32_t peer, const std::function<bool()>& is_ready);
  // Makes every wait fail, in whatever thread.
  void stop();

 private:
  using Lateness = std::array<std::uint64_t, protocol::max_ranks>;
  template <class Machine, class Perform>
  Status run(Machine& machine, const Perform& perform);
  std::uint64_t access(const protocol::Action& action) const;
  Status sleep(std::uint64_t seen);
  void count_lateness(Lateness& late, protocol::RankMask waits_for, std::uint64_t slept_ms);

  const Segment* segment_;
  PeerWatch* watch_;
  WatchTimes times_;
  std::atomic<bool> stops_ = false;
};

}  // namespace headroom::averager
