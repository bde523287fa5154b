// SPDX-License-Identifier: Apache-2.0
#include "findings/whose_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "findings/scene_parts.h"
#include "findings/scene_text.h"

namespace headroom::findings {
namespace {

// Whether a GPU may print itself as the target: it is one, or an override is known to make it one.
bool may_print(const facts::Gpu& gpu, const std::string& printed,
               const knowledge::GpuTables& tables) {
  if (!gpu.gfx || *gpu.gfx == printed) return true;
  const knowledge::Target* own = tables.target(*gpu.gfx);
  if (own == nullptr) return true;
  return std::any_of(own->overrides.begin(), own->overrides.end(), [&](const auto& one) {
    return knowledge::target_of_override(one.first) == printed;
  });
}

}  // namespace

facts::Text printed_elsewhere(const logs::Observations& log, const facts::Facts& machine,
                              const knowledge::GpuTables& tables) {
  if (machine.gpus.empty()) return {};
  facts::Text first;
  for (const logs::Observation& seen : log.all()) {
    if (seen.text.find("HSA_OVERRIDE_GFX_VERSION") != std::string::npos) return {};
    for (const std::string& target : targets_in(seen.value("gfx"))) {
      const bool is_here =
          std::any_of(machine.gpus.begin(), machine.gpus.end(),
                      [&](const facts::Gpu& gpu) { return may_print(gpu, target, tables); });
      if (is_here) return {};
      if (!first) first = facts::Text(target, source_of(seen));
    }
  }
  return first;
}

void say_elsewhere(const facts::Text& printed, LogDiagnosis& diagnosis) {
  diagnosis.cause.reasons.push_back(
      fmt::format("The log shows {}, which this machine does not have. It was written elsewhere, "
                  "so the measurements of this machine do not count.",
                  *printed));
  diagnosis.cause.evidence.push_back(show(printed, "a GPU of another machine"));
}

}  // namespace headroom::findings
