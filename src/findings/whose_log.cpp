// SPDX-License-Identifier: Apache-2.0
#include "findings/whose_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
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

// Whether a GPU may have so much memory, as a program counts it. A card has what it has, less what
// firmware keeps; what an APU may use depends on settings, and is never more than there is.
bool may_have(const facts::Gpu& gpu, Bytes capacity) {
  constexpr double nearly = 0.1;
  const auto figure = static_cast<double>(capacity.value);
  double most = 0;
  for (const facts::Rung& rung : gpu.ladder.rungs)
    if (rung.limit) most = std::max(most, static_cast<double>(rung.limit->value));
  const facts::Rung* vram = gpu.ladder.rung("vram");
  const bool is_card = gpu.integrated && !*gpu.integrated && vram != nullptr && vram->limit;
  if (is_card) {
    most = static_cast<double>(vram->limit->value);
    if (figure < most * (1 - nearly)) return false;
  }
  return most == 0 || figure <= most * (1 + nearly);
}

// The first GPU memory that the log prints, where no GPU here may have any that it prints.
facts::Text memory_elsewhere(const logs::Observations& log, const facts::Facts& machine) {
  facts::Text first;
  for (const logs::Observation& seen : log.all()) {
    const auto capacity = parse_bytes(seen.value("capacity"));
    if (!capacity) continue;
    const bool is_here = std::any_of(machine.gpus.begin(), machine.gpus.end(),
                                     [&](const auto& gpu) { return may_have(gpu, *capacity); });
    if (is_here) return {};
    if (!first)
      first = facts::Text("a GPU with " + to_string(*capacity) + " of memory", source_of(seen));
  }
  return first;
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
  return first ? first : memory_elsewhere(log, machine);
}

void say_elsewhere(const facts::Text& printed, LogDiagnosis& diagnosis) {
  diagnosis.cause.reasons.push_back(
      fmt::format("The log shows {}, which this machine does not have. It was written elsewhere, "
                  "so the measurements of this machine do not count.",
                  *printed));
  diagnosis.cause.evidence.push_back(show(printed, "a GPU of another machine"));
}

}  // namespace headroom::findings
