// SPDX-License-Identifier: Apache-2.0
#include "run/trained_parameters.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/document.h"
#include "base/text.h"
#include "estimate/plan.h"

namespace headroom::run {
namespace {

// Modules that people give adapters to, the usual ones first.
constexpr std::array<std::string_view, 6> usual_targets = {
    "q,v", "all-linear", "q,k,v,o", "q,k,v", "gate,up,down", "q,k,v,o,gate,up"};

bool is_power_of_two(std::uint64_t number) {
  return (number & (number - 1)) == 0;
}

}  // namespace

Result<std::uint64_t> trained_parameters(LoadedJob loaded, const std::string& targets) {
  loaded.job.method.kind = estimate::MethodKind::full;
  if (!targets.empty()) {
    Json job = {{"model", {{"name", "none"}}},
                {"method", {{"kind", "lora"}, {"rank", 1}}},
                {"batch", {{"micro", 1}, {"sequence", 8}}}};
    job["method"]["targets"] = targets == "all-linear" ? Json(targets) : Json::array();
    for (const auto one : split(targets, ','))
      if (targets != "all-linear") job["method"]["targets"].push_back(std::string(trim(one)));
    HEADROOM_TRY(loaded.job, estimate::parse_job({std::move(job), {}}));
  }
  HEADROOM_TRY(const estimate::Device device, estimate::find_device(loaded.job));
  HEADROOM_TRY(const estimate::Plan plan, estimate::make_plan(loaded.job, loaded.model, device));
  return plan.trainable_parameters;
}

std::vector<Adapters> find_adapters(const LoadedJob& model, std::uint64_t trained,
                                    const std::string& targets) {
  constexpr std::uint64_t rank_max = 1024;
  std::vector<std::string> tried = {targets};
  if (targets.empty()) tried.assign(usual_targets.begin(), usual_targets.end());
  std::vector<Adapters> found;
  for (const std::string& one : tried) {
    const auto each = trained_parameters(model, one);
    if (each && *each > 0 && trained % *each == 0 && trained / *each <= rank_max)
      found.push_back({trained / *each, one});
  }
  std::stable_partition(found.begin(), found.end(),
                        [](const Adapters& one) { return is_power_of_two(one.rank); });
  return found;
}

}  // namespace headroom::run
