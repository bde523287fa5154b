// SPDX-License-Identifier: Apache-2.0
// Lines that say that a program holds no code for the GPU, read once for the causes that share
// them: a target that was never built, one that was dropped, and a wrong override.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

struct NoCode {
  const logs::Observation* seen = nullptr;
  std::string gfx;                     // The GPU's; empty: unknown.
  std::vector<std::string> built_for;  // What the library lists; empty: it lists nothing.
  bool names_target = false;           // The line itself says for which target.
  // An add-on such as an attention kernel: it never carried what the base libraries carry.
  bool add_on = false;
  double confidence = 0;  // That the target's absence is the reason, whatever the history.
};

// The most telling of such lines; nothing if there is none, or if the library does list the target.
std::optional<NoCode> find_no_code(const LogSubject& subject);

// HSA_OVERRIDE_GFX_VERSION as it is in force, and what it does to this machine's GPU.
struct OverrideInForce {
  std::string value;  // "10.3.0"
  std::string own;    // The GPU's own target.
  knowledge::Override judged;
  Evidence evidence;  // The setting, or the runtime that gives another target than the GPU's.
};
// Nothing if none is in force, it names the GPU's own target, or that target is unknown.
std::optional<OverrideInForce> find_override(const LogSubject& subject);

// What the current or the installed ROCm no longer carries. Nothing for any other target.
const knowledge::Target* dropped_target(const LogSubject& subject, const std::string& gfx);

// "gfx1032 (RX 6600)" as far as it is known.
std::string describe_gpu(const LogSubject& subject, const std::string& gfx);

}  // namespace headroom::findings
