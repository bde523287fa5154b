// SPDX-License-Identifier: Apache-2.0
// Why a step failed, where it ran to its end: what its own measurement tells.
#pragma once

#include <optional>
#include <string_view>

#include "knowledge/cards.h"
#include "proof/step.h"

namespace headroom::proof {

// `kind` as the program of the steps gives it: "wrong", "memory", "unstable", "size", "lost"; of a
// trial also "target", "nan", "grows", "big", "time". Nothing for another, and for
// what several devices do together ("peer", "sum", "stuck"; together.h).
std::optional<StepCause> cause_of_kind(std::string_view kind, const StepResult& result);

// Holds a step's figure of speed against the card's, which is nullptr where it is not known: below
// a tenth of what the makers name, the step fails as `slower`. Other steps stay as they are.
void judge_speed(const knowledge::Card* card, StepResult& result);

// A step that gave no sign for so long.
struct Silence {
  long seconds = 0;
  bool on_gpu = false;
  bool has_ended = true;  // Its process could be ended.
  bool is_busy = false;   // The processor worked for it all the while.
};

// On the processor, one that is busy is slow and does not hang; on a GPU, waiting is busy, too.
StepResult make_hung(std::string_view step, const Silence& silence);

}  // namespace headroom::proof
