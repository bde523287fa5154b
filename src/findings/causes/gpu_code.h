// SPDX-License-Identifier: Apache-2.0
// Reads lines which say that a program has no code for the GPU, for the three causes that share
// them: a target that was never built, one that was dropped, and a wrong override.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

struct NoCode {
  const logs::Observation* seen = nullptr;
  std::string gfx;                     // The GPU's target; empty if unknown.
  std::vector<std::string> built_for;  // The targets that the library lists, if any.
  bool names_target = false;           // Whether the line itself names the target.
  // Whether it is an add-on such as an attention kernel, which never had code for all targets of
  // the base libraries.
  bool add_on = false;
  double confidence = 0;  // How sure it is that the missing target is the reason.
};

// Returns the most conclusive of such lines; nothing if there is none, or if the library lists the
// target.
std::optional<NoCode> find_no_code(const LogSubject& subject);

// Whether the release in use is older than the first one with code for the target. False if either
// is unknown, or the target is nullptr.
bool predates_target(const Scene& scene, const knowledge::Target* target);

// Whether rocBLAS finds no library of kernels at all where it looks, although every release brings
// the code of this GPU: it looks in another folder than the one that the package filled.
bool looks_in_wrong_folder(const LogSubject& subject, const logs::Observation& seen);

// The HSA_OVERRIDE_GFX_VERSION that is in force, and what it does to this machine's GPU.
struct OverrideInForce {
  std::string value;  // "10.3.0"
  std::string own;    // The GPU's own target.
  knowledge::Override judged;
  Evidence evidence;  // The setting, or a line of the runtime with another target than the GPU's.
  // Whether the job fails without it, too: a run shows the same failure, a person says that it was
  // only tried, or the release in use is older than any with code for the GPU.
  bool fails_without = false;
};
// Returns nothing if none is in force, if it names the GPU's own target, or if that target is
// unknown.
std::optional<OverrideInForce> find_override(const LogSubject& subject);

// Whether PyTorch's wheels of today have code for the target that the override names.
bool names_wheels_target(const LogSubject& subject, const OverrideInForce& forced);

// Returns the target if the current or the installed ROCm no longer carries it; else nullptr.
const knowledge::Target* dropped_target(const LogSubject& subject, const std::string& gfx);

// "gfx1032 (RX 6600)" as far as it is known.
std::string describe_gpu(const LogSubject& subject, const std::string& gfx);

// The line with a path of the program that has a space in it, where code for the GPU should be
// there and is not found: ROCm 6's runtime opens such a file by another name
// (ROCm/legacy-rocm-build#3894, #4329, #4478). nullptr if that is not the case.
const logs::Observation* hidden_by_path(const LogSubject& subject);

}  // namespace headroom::findings
