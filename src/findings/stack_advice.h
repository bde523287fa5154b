// SPDX-License-Identifier: Apache-2.0
// Tells which wheels carry a target, as steps for people to read and type. Indexes are those of
// data/stacks.toml; URL stands for PyTorch's newest one, whose name changes with each release.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "findings/step.h"
#include "knowledge/gpu_tables.h"

namespace headroom::findings {

// The first of PyTorch's own wheels, AMD's, and an older stack's that carries the target; nothing
// if none does. `pip` is the command of the Python that is meant.
std::vector<Step> wheels_for(const knowledge::GpuTables& tables, const knowledge::Target& target,
                             const std::string& pip = "pip");
// The wheels of an older stack, and what else carries the target.
std::vector<Step> older_wheels(const knowledge::GpuTables& tables, const knowledge::Stack& stack,
                               const std::string& pip = "pip");
// Wheels that carry the code which an override makes run; nothing if none are known.
std::vector<Step> wheels_for_override(const knowledge::GpuTables& tables, const std::string& value);

// The findings and causes which say that what is installed does not serve this GPU, so that another
// stack does (`headroom fix stack`).
inline constexpr std::array<std::string_view, 5> mended_by_stack = {
    "wrong-wheel", "gfx-target-missing", "gfx-target-dropped", "python-version-unsupported",
    "rocm-version-mismatch"};

// Adds what is missing or untested although wheels carry the target; for most targets nothing.
void explain_libraries(const knowledge::Target& target, std::vector<std::string>& reasons);

}  // namespace headroom::findings
