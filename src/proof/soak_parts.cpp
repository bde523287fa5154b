// SPDX-License-Identifier: Apache-2.0
#include "proof/soak_parts.h"

#include <utility>

namespace headroom::proof {

StepResult passed_step(const char* name) {
  StepResult result;
  result.name = name;
  result.ok = true;
  return result;
}

StepResult skipped_step(const char* name, std::string reason) {
  StepResult result;
  result.name = name;
  result.detail = std::move(reason);
  return result;
}

void fail_step(StepResult& result, const char* id, double confidence, const char* title) {
  result.ok = false;
  StepCause cause;
  cause.id = id;
  cause.confidence = confidence;
  cause.title = title;
  cause.evidence = {{"the step " + result.name, 0, result.detail, "what it found"}};
  result.cause = std::move(cause);
}

std::optional<std::uint64_t> more_of(const facts::Fact<std::uint64_t>& before,
                                     const facts::Fact<std::uint64_t>& after) {
  if (!before || !after) return std::nullopt;
  return *after >= *before ? *after - *before : *after;
}

MoreErrors count_more(const facts::GpuErrors& before, const facts::GpuErrors& after,
                      facts::Fact<std::uint64_t> facts::RasCount::*kind) {
  MoreErrors found;
  for (const facts::RasCount& then : before.ras) {
    const auto now = std::find_if(after.ras.begin(), after.ras.end(),
                                  [&then](const auto& one) { return one.block == then.block; });
    if (now == after.ras.end()) continue;
    const auto more = more_of(then.*kind, (*now).*kind);
    if (!more) continue;
    found.known = true;
    found.more += *more;
    if (*more > 0) found.blocks.push_back(then.block);
  }
  return found;
}

std::optional<std::uint64_t> highest_of(const std::vector<SoakSample>& samples,
                                        std::optional<std::uint64_t> SoakSample::*value) {
  std::optional<std::uint64_t> highest;
  for (const SoakSample& sample : samples) {
    if (sample.*value) highest = std::max(highest.value_or(0), *(sample.*value));
  }
  return highest;
}

bool any_sample(const std::vector<SoakSample>& samples,
                const std::function<bool(const facts::Throttling&)>& is) {
  return std::any_of(samples.begin(), samples.end(), [&is](const SoakSample& sample) {
    return sample.throttling && is(*sample.throttling);
  });
}

}  // namespace headroom::proof
