// SPDX-License-Identifier: Apache-2.0
// How long steps take, and how much of that their threads waited for a processor. The waiting is
// asked for a few times a second and not for every step, which may take less than the question.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "machine/processor.h"
#include "trainer/metrics.h"

namespace headroom::trainer {

class StepTimer {
 public:
  // Times one step, and returns what it did.
  template <class Step>
  Status time(const Step& step) {
    begin();
    Status done = step();
    end();
    return done;
  }

  // Before anything that is no step, and between two calls of time().
  void pause();

  // Of all steps so far.
  Pace take() {
    pause();
    return pace_;
  }

 private:
  void begin();
  void end();

  std::optional<machine::QuietClock> clock_;
  std::uint64_t began_ns_ = 0;
  std::uint64_t steps_ = 0;  // Since the clock was set.
  bool warm_ = false;        // The first step, which makes the optimizer's states, has ended.
  Pace pace_;
};

}  // namespace headroom::trainer
