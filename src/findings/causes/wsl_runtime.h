// SPDX-License-Identifier: Apache-2.0
// ROCm in WSL: the runtime that reaches the GPU there, and one that does not.
#pragma once

#include <optional>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// In WSL the runtime that a wheel brings may know /dev/kfd alone, while rocminfo takes the
// system's, which knows /dev/dxg.
std::optional<Hypothesis> find_runtime_for_wsl(const LogSubject& subject);

// Whether the release in use is from before ROCm's first one for WSL, 6.1.3 (with beta drivers
// of June 2024: invoke-ai/InvokeAI issue 6535). Without a way to the GPU of its own it needs
// /dev/kfd, whatever the GPU. False if the release is not known.
bool is_before_wsl(const LogSubject& subject);

}  // namespace headroom::findings
