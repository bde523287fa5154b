// SPDX-License-Identifier: Apache-2.0
// What the judgements of a soak share: differences of counters that may be missing, the ends of a
// series, results in their wording.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "proof/soak.h"

namespace headroom::proof {

StepResult passed_step(const char* name);
StepResult skipped_step(const char* name, std::string reason);
// Turns a result into a failure with this cause, whose evidence is what the step found.
void fail_step(StepResult& result, const char* id, double confidence, const char* title);

// "the temperature cannot be read: not there".
template <class T>
std::string missing_text(const std::string& what, const facts::Fact<T>& fact) {
  return what + " cannot be read: " + to_string(fact.missing());
}

// By how much a counter grew. Nothing where either end is missing; one that went back, as after the
// driver was loaded anew, has counted from 0.
std::optional<std::uint64_t> more_of(const facts::Fact<std::uint64_t>& before,
                                     const facts::Fact<std::uint64_t>& after);

struct MoreErrors {
  bool known = false;  // At least one block told it both times.
  std::uint64_t more = 0;
  std::vector<std::string> blocks;  // Those that counted more.
};
MoreErrors count_more(const facts::GpuErrors& before, const facts::GpuErrors& after,
                      facts::Fact<std::uint64_t> facts::RasCount::*kind);

std::optional<std::uint64_t> highest_of(const std::vector<SoakSample>& samples,
                                        std::optional<std::uint64_t> SoakSample::*value);
bool any_sample(const std::vector<SoakSample>& samples,
                const std::function<bool(const facts::Throttling&)>& is);

StepResult judge_soak_speed(const SoakRecord& record);

}  // namespace headroom::proof
