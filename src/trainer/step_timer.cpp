// SPDX-License-Identifier: Apache-2.0
#include "trainer/step_timer.h"

#include "machine/clock.h"

namespace headroom::trainer {
namespace {

constexpr std::uint64_t stretch_ns = 250'000'000;

}  // namespace

void StepTimer::begin() {
  if (!warm_ || clock_) return;
  clock_.emplace();
  began_ns_ = machine::monotonic_ns();
}

void StepTimer::end() {
  warm_ = true;
  if (!clock_) return;
  ++steps_;
  if (machine::monotonic_ns() - began_ns_ > stretch_ns) pause();
}

void StepTimer::pause() {
  if (!clock_) return;
  const machine::Stretch stretch = clock_->take();
  clock_.reset();
  pace_.steps += steps_;
  pace_.elapsed_s += stretch.wall_s;
  pace_.quiet_s += stretch.quiet_s;
  steps_ = 0;
}

}  // namespace headroom::trainer
