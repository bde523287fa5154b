// SPDX-License-Identifier: Apache-2.0
// Whether the other ranks are still there. A process that ended is noticed by its pidfd, one that
// is stopped by its beats. Before the others go on without a rank that has not ended, it is ended
// (SIGKILL) and its end is awaited: nothing may write into the segment that is not counted any
// more.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "averager/segment.h"
#include "machine/process_handle.h"

namespace headroom::averager {

struct WatchTimes {
  std::uint32_t silent_ms = 10'000;   // Without a beat for so long, a rank is stopped.
  std::uint32_t absent_ms = 600'000;  // So late for a bucket that others wait for, it hangs.
  // Between two looks. Also how late an end is noticed, at most.
  std::uint32_t interval_ms() const;
};

// One thread calls look(); others may call condemn() and unended() at any time.
class PeerWatch {
 public:
  PeerWatch(const Segment& segment, WatchTimes times) : segment_(&segment), times_(times) {}

  // Beats for this rank, and looks at each other one. Rings the bell if one is dead.
  void look();
  // Has these ranks ended, because they let others wait for too long.
  void condemn(protocol::RankMask ranks) { condemned_.fetch_or(ranks); }
  // Ranks that had to be ended and could not be: nobody may go on without them.
  protocol::RankMask unended() const { return unended_.load(); }

 private:
  struct Peer {
    std::uint64_t life = 0;  // The word for which `process` was opened.
    std::optional<machine::ProcessHandle> process;
    std::uint64_t beats = 0;
    std::uint64_t silent_ms = 0;
    std::uint64_t ending_ms = 0;  // Since when its end is awaited; 0 if it is not.
  };
  void look_at(std::uint32_t rank, std::uint64_t passed_ms);
  bool hold(std::uint32_t rank, std::uint64_t life);
  void end(std::uint32_t rank, std::uint64_t passed_ms);
  void mark_dead(std::uint32_t rank);

  const Segment* segment_;
  WatchTimes times_;
  std::array<Peer, protocol::max_ranks> peers_;
  std::uint64_t looked_ms_ = 0;
  std::atomic<std::uint32_t> condemned_ = 0;
  std::atomic<protocol::RankMask> unended_ = 0;
};

}  // namespace headroom::averager
