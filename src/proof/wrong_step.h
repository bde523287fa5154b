// SPDX-License-Identifier: Apache-2.0
// Why a step failed, where it ran to its end: what its own measurement tells.
#pragma once

#include <optional>
#include <string_view>

#include "knowledge/cards.h"
#include "proof/step.h"

namespace headroom::proof {

// `kind` as the program of the steps gives it: "wrong", "memory", "size", "lost"; of a trial also
// "target", "nan", "grows", "time". Nothing for another.
std::optional<StepCause> cause_of_kind(std::string_view kind, const StepResult& result);

// Holds a step's figure of speed against the card's, which is nullptr where it is not known: below
// a tenth of what the makers name, the step fails as `slower`. Other steps stay as they are.
void judge_speed(const knowledge::Card* card, StepResult& result);

// A step that gave no sign for `seconds`, on a GPU or on the processor. `has_ended`: its process
// could be ended.
StepResult make_hung(std::string_view step, long seconds, bool on_gpu, bool has_ended);

}  // namespace headroom::proof
