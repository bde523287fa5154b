// SPDX-License-Identifier: Apache-2.0
#include "machine/periodic.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "machine/clock.h"

namespace headroom::machine {
namespace {

constexpr std::uint64_t last_patience_ms = 1000;
constexpr std::uint64_t slice_ms = 20;  // After so long at most it sees that it is to stop.
constexpr std::uint64_t ns_per_ms = 1'000'000;

}  // namespace

struct Periodic::State {
  std::atomic<bool> is_wanted = true;
  std::atomic<bool> has_ended = false;
};

Periodic::Periodic(std::uint64_t period_ms, std::function<void()> act)
    : state_(std::make_shared<State>()) {
  // Detached: a thread that waits for a driver for ever cannot be joined.
  std::thread([state = state_, act = std::move(act), period_ms]() mutable {
    do {
      act();
      const std::uint64_t next = monotonic_ns() + period_ms * ns_per_ms;
      while (state->is_wanted && monotonic_ns() < next) sleep_ms(std::min(slice_ms, period_ms));
    } while (state->is_wanted);
    act = nullptr;  // What it holds is gone when stop() returns.
    state->has_ended = true;
  }).detach();
}

Periodic::~Periodic() {
  stop(last_patience_ms);
}

bool Periodic::stop(std::uint64_t patience_ms) {
  const std::uint64_t end = monotonic_ns() + patience_ms * ns_per_ms;
  state_->is_wanted = false;
  while (!state_->has_ended && monotonic_ns() < end) sleep_ms(1);
  return state_->has_ended;
}

}  // namespace headroom::machine
