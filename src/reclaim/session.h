// SPDX-License-Identifier: Apache-2.0
// One reclaim under way: the targets that are held on to, the last measurement, and the timeline
// that is being written.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/reclaim/outcome.h"
#include "plan/reclaim/reclaim_plan.h"
#include "reclaim/kernel.h"

namespace headroom::reclaim {

// A target, held on to since it was named.
struct HeldTarget {
  const plan::Target* target = nullptr;
  int held = -1;  // Of the kernel; -1: it is gone, or was never the one that was named.
  bool ended = false;
};

class Session {
 public:
  Session(const plan::ReclaimPlan& plan, Kernel& kernel) : plan_(plan), kernel_(kernel) {}

  const plan::ReclaimPlan& plan() const { return plan_; }
  Kernel& kernel() { return kernel_; }
  const plan::Measurement& now() const { return now_; }
  std::vector<HeldTarget>& targets() { return targets_; }

  // Takes hold of every target; what it finds goes into `done`.
  void hold_targets(plan::RungDone& done);

  // Measures anew; where that fails it is tried again for a while, because a driver that has just
  // been loaded needs a moment.
  Status refresh();
  bool is_enough() const { return plan::is_enough(plan_, now_); }
  // Measures again and again until it is enough, `until` holds, or the time is over.
  template <class Until>
  Status measure_until(std::uint64_t longest_ms, Until until);
  Status measure_until_enough(std::uint64_t longest_ms) {
    return measure_until(longest_ms, [] { return false; });
  }

 private:
  const plan::ReclaimPlan& plan_;
  Kernel& kernel_;
  plan::Measurement now_;
  std::vector<HeldTarget> targets_;
};

constexpr std::uint64_t poll_ms = 250;
// A driver frees the memory of a process after its end, in the background.
constexpr std::uint64_t effect_wait_ms = 5'000;

template <class Until>
Status Session::measure_until(std::uint64_t longest_ms, Until until) {
  const std::uint64_t deadline = kernel_.now_ms() + longest_ms;
  HEADROOM_CHECK(refresh());
  while (!is_enough() && !until() && kernel_.now_ms() < deadline) {
    kernel_.wait_ms(poll_ms);
    HEADROOM_CHECK(refresh());
  }
  return Done{};
}

// What a rung came to.
enum class Taken {
  done,    // It did what it does, or failed in a way that leaves the next one open.
  hung,    // It did not come back: the kernel is stuck, and harsher rungs would hang as well.
  no_gpu,  // The driver is off the GPU, or the memory cannot be measured any more.
};

// Each takes one rung and writes what it did into `done`.
Taken take_ask(Session& session, plan::RungDone& done);
Taken take_insist(Session& session, plan::RungDone& done);
Taken take_wait_kfd(Session& session, plan::RungDone& done);
Taken take_empty_pool(Session& session, plan::RungDone& done);
Taken take_stop_service(Session& session, plan::RungDone& done);
Taken take_unbind_bind(Session& session, plan::RungDone& done);
Taken take_module_reload(Session& session, plan::RungDone& done);
Taken take_driver_reset(Session& session, plan::RungDone& done);

}  // namespace headroom::reclaim
