// SPDX-License-Identifier: Apache-2.0
#include "reclaim/session.h"

#include <fmt/format.h>

#include "plan/reclaim/names.h"

namespace headroom::reclaim {

void Session::hold_targets(plan::RungDone& done) {
  for (const plan::Target& target : plan_.targets) {
    HeldTarget held{.target = &target};
    const std::string name = plan::name_of(target.held);
    if (!target.held.start_ticks) {
      done.did.push_back(name +
                         " is left alone: its start time could not be read, so it may be a later "
                         "process with the same PID");
    } else if (const auto taken = kernel_.hold(target.held.pid, *target.held.start_ticks)) {
      held.held = *taken;
    } else {
      held.ended = taken.error().code == Errc::not_found;
      done.did.push_back(held.ended ? name + " has ended by itself"
                                    : name + " is left alone: " + taken.error().message);
    }
    targets_.push_back(held);
  }
}

Status Session::refresh() {
  constexpr std::uint64_t patience_ms = 10'000;
  const std::uint64_t deadline = kernel_.now_ms() + patience_ms;
  while (true) {
    auto measured = kernel_.measure();
    if (measured) {
      now_ = *std::move(measured);
      return Done{};
    }
    if (kernel_.now_ms() >= deadline) return std::move(measured).error();
    kernel_.wait_ms(poll_ms);
  }
}

}  // namespace headroom::reclaim
