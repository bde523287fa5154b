// SPDX-License-Identifier: Apache-2.0
// Grades whether a GPU is worth running machine learning on: with which software, at what risk,
// what speaks against it here, what to use instead, and which test decides. One property alone
// never decides: sharing the system's memory, for example, is no reason against an APU (Strix Halo
// and MI300A are official, Cezanne is not).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "findings/rules.h"

namespace headroom::findings {

enum class Level {
  stable,   // Official, or dropped but carried by an older stack; nothing known to be bad here.
  attempt,  // Worth a try that can be undone ("try").
  no,       // Nothing works dependably.
};

// Which software carries the GPU's code.
enum class StackRoute { official, community, override, old_stack, none };

struct OverrideAdvice {
  std::string value;  // The value of HSA_OVERRIDE_GFX_VERSION.
  knowledge::Risk risk = knowledge::Risk::medium;
  std::string why;
};

struct Suitability {
  Level level = Level::no;
  StackRoute route = StackRoute::none;
  std::string summary;  // One line, without a full stop.
  std::string remark;   // What else to know at a glance; may be empty.
  std::vector<std::string> reasons;
  std::vector<Evidence> evidence;
  std::vector<Step> install;  // Commands and sentences, in order.
  // The least dangerous known override for the target; its risk tells whether to use it.
  std::optional<OverrideAdvice> override;
  std::vector<Step> instead;         // Empty if the GPU is simply fine.
  Step decides;                      // The command that shows whether it works here.
  knowledge::Origin origin;          // The row that decided the level,
  std::vector<std::string> sources;  // and its sources, written out.
};

// Returns nothing if the GPU's target is not known.
std::optional<Suitability> assess(const Subject& subject, const facts::Gpu& gpu);

// Whether amdgpu drives this GPU, but KFD's list, as far as it can be read, does not have it.
bool lacks_compute_node(const facts::Facts& facts, const facts::Gpu& gpu);

std::string_view to_string(Level level);
std::string_view to_string(StackRoute route);

}  // namespace headroom::findings
