// SPDX-License-Identifier: Apache-2.0
// One knob's value by itself: whether it is of the knob's kind, lies in its range, and is an amount
// that this machine could have.
#pragma once

#include <optional>
#include <string>

#include "facts/facts.h"
#include "knowledge/knobs.h"

namespace headroom::findings {

// What amounts are measured against; absent where the machine does not say.
struct MachineSize {
  std::optional<Bytes> ram;   // With an APU's carve-out.
  std::optional<Bytes> vram;  // Of the largest card; of an APU what its GPU can get at most.
};
MachineSize measure_machine(const facts::Facts& facts);

enum class ValueFault {
  wrong_unit,  // Not the number it takes, outside its range, or an amount in another unit.
  not_a_word,  // Not one of the words it takes.
  too_large,   // More than there is, in any unit.
};
struct ValueProblem {
  ValueFault fault;
  std::string why;
  std::optional<std::string> meant;  // The value in the knob's own unit.
};
// Nothing if the value is sound, or holds a variable that only the shell knows.
std::optional<ValueProblem> check_value(const knowledge::Knob& knob, const std::string& value,
                                        const MachineSize& size);

}  // namespace headroom::findings
