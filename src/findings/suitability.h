// SPDX-License-Identifier: Apache-2.0
// Whether a GPU is worth running machine learning on, graded by what is known: which software, with
// what risk, what speaks against it here, what to use instead, and the test that decides. Never one
// property alone: that an APU shares the system's memory is no reason by itself (Strix Halo and
// MI300A are official, Cezanne is not).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "findings/rules.h"

namespace headroom::findings {

enum class Level {
  stable,   // Official, or dropped with a stack that carries it; and nothing known-bad here.
  attempt,  // Worth a try that can be taken back ("try").
  no,       // Nothing dependable.
};

// Whose software carries the GPU's code.
enum class StackRoute { official, community, override, old_stack, none };

struct OverrideAdvice {
  std::string value;  // Of HSA_OVERRIDE_GFX_VERSION.
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
  // The least dangerous override that is known for the target; its risk says whether to use it.
  std::optional<OverrideAdvice> override;
  std::vector<Step> instead;         // Empty where the GPU is simply fine.
  Step decides;                      // The command that shows whether it works here.
  knowledge::Origin origin;          // Of the row that decided the level,
  std::vector<std::string> sources;  // and its sources, written out.
};

// Nothing where the GPU's target is not known: then nothing can be said.
std::optional<Suitability> assess(const Subject& subject, const facts::Gpu& gpu);

// amdgpu drives this GPU, and KFD's list, as far as it can be read, does not have it.
bool lacks_compute_node(const facts::Facts& facts, const facts::Gpu& gpu);

std::string_view to_string(Level level);
std::string_view to_string(StackRoute route);

}  // namespace headroom::findings
