// SPDX-License-Identifier: Apache-2.0
// Which wheels carry a target, as steps for people to read and type. URL stands for an index that
// the step names: addresses change, the pages that list them do not.
#pragma once

#include <string>
#include <vector>

#include "knowledge/gpu_tables.h"

namespace headroom::findings {

// PyTorch's own ROCm wheels, of today.
std::vector<std::string> torch_wheels();
// AMD's wheels from TheRock, which hold one target each.
std::vector<std::string> device_wheels(const knowledge::Target& target);
// The wheels of an older stack, and what else carries the target.
std::vector<std::string> older_wheels(const knowledge::Stack& stack);

// Wheels that carry the code which an override makes run; nothing if none are known.
std::vector<std::string> wheels_for_override(const knowledge::GpuTables& tables,
                                             const std::string& value);

// What is missing or untested although wheels carry the target; nothing for most.
void explain_libraries(const knowledge::Target& target, std::vector<std::string>& reasons);

}  // namespace headroom::findings
