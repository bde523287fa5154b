// SPDX-License-Identifier: Apache-2.0
// Checks one knob's value by itself: whether it is of the knob's kind, lies in its range, and is an
// amount that this machine could have.
#pragma once

#include <optional>
#include <string>

#include "facts/facts.h"
#include "knowledge/knobs.h"

namespace headroom::findings {

// The sizes with which amounts are compared; absent if they are not known.
struct MachineSize {
  std::optional<Bytes> ram;   // Including an APU's carve-out.
  std::optional<Bytes> vram;  // The largest card's, or the most that an APU's GPU can get.
};
MachineSize measure_machine(const facts::Facts& facts);

enum class ValueFault {
  wrong_unit,  // Not a number, outside the range, or an amount in another unit.
  not_a_word,  // Not one of the allowed words.
  too_large,   // More than the machine has, in any unit.
  too_small,   // A limit that leaves nearly nothing, in any unit.
};
struct ValueProblem {
  ValueFault fault;
  std::string why;
  std::optional<std::string> meant;  // The value in the knob's own unit.
};
// Returns nothing if the value is sound, or contains a variable that only the shell knows.
std::optional<ValueProblem> check_value(const knowledge::Knob& knob, const std::string& value,
                                        const MachineSize& size);

}  // namespace headroom::findings
