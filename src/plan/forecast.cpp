// SPDX-License-Identifier: Apache-2.0
#include "plan/forecast.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "plan/mismatch_reasons.h"

namespace headroom::plan {
namespace {

using facts::Gpu;
using facts::Rung;

bool is_apu(const Gpu& gpu) {
  return gpu.integrated && *gpu.integrated && !is_mi300(gpu);
}

// The carve-out is kept beside the rungs of system memory: if it is another one, that is why.
bool is_kept(const Rung& rung) {
  const bool capacity = rung.kind == facts::RungKind::capacity && rung.limit;
  return capacity && (rung.applies || rung.name == "vram") && rung.name != "dmem";
}

// By its address; a GPU that is the only APU then and now is the same one, whatever its address:
// another card in the machine moves it.
const Gpu* find_gpu(const facts::Facts& now, const Forecast& forecast, const std::string& pci) {
  for (const Gpu& gpu : now.gpus) {
    if (gpu.pci == pci) return &gpu;
  }
  const auto same = [&](const PredictedRung& rung) { return rung.gpu == pci; };
  if (!std::all_of(forecast.rungs.begin(), forecast.rungs.end(), same)) return nullptr;
  const Gpu* only = nullptr;
  for (const Gpu& gpu : now.gpus) {
    if (!is_apu(gpu)) continue;
    if (only != nullptr) return nullptr;
    only = &gpu;
  }
  return only;
}

bool sets_limit(const Forecast& forecast) {
  return std::any_of(
      forecast.parameters.begin(), forecast.parameters.end(),
      [](const auto& parameter) { return parameter.first.ends_with(".pages_limit"); });
}

Bytes tolerance(const Forecast& forecast, const PredictedRung& rung) {
  if (rung.rung == "vram") return {};
  const bool follows_ram = rung.rung == "ram" || rung.rung == "kfd-system" || rung.at_most;
  const bool is_exact = !follows_ram && sets_limit(forecast);
  return is_exact ? 0_B : Bytes{rung.limit.value / facts::ram_tolerance_parts};
}

// How far the found limit, or what its source may have rounded off it, is from the predicted one.
Bytes apart(const Rung& found, Bytes predicted) {
  if (may_be(found, predicted)) return {};
  const Bytes nearest = predicted < *found.limit ? *found.limit : *found.limit + found.unit - 1_B;
  return std::max(nearest, predicted) - std::min(nearest, predicted);
}

// 1 and Y are one value, and so are "31457280" and "31457280\n".
std::string plain(std::string_view value) {
  std::string word = to_lower(trim(value));
  if (word == "y") return "1";
  if (word == "n") return "0";
  return word;
}

class Comparer {
 public:
  Comparer(const Forecast& forecast, const facts::Facts& now) : forecast_(forecast), now_(now) {}

  Comparison run() {
    for (const PredictedRung& rung : forecast_.rungs) look_at(rung);
    for (const auto& [name, value] : forecast_.parameters) look_at(name, value);
    if (!comparison_.rungs.empty() || !comparison_.parameters.empty()) {
      comparison_.outcome = Outcome::differs;
      comparison_.reasons = find_mismatch_reasons(forecast_, comparison_, now_);
    } else if (!comparison_.unread.empty() || forecast_.rungs.empty()) {
      comparison_.outcome = Outcome::not_known;
    } else {
      comparison_.outcome = Outcome::as_predicted;
    }
    return std::move(comparison_);
  }

 private:
  void look_at(const PredictedRung& rung) {
    const Gpu* gpu = find_gpu(now_, forecast_, rung.gpu);
    if (gpu == nullptr) {
      // One line for a GPU that is gone, not one per rung.
      if (rung.binding) comparison_.rungs.push_back({rung.gpu, rung.rung, rung.limit, {}});
      return;
    }
    const Rung* found = gpu->ladder.rung(rung.rung);
    if (found == nullptr || !found->limit) {
      const std::string why =
          found == nullptr ? "no such limit" : to_string(found->limit.missing());
      comparison_.unread.push_back(
          fmt::format("{} of {} ({}): {}", rung.rung, gpu->name, gpu->pci, why));
      return;
    }
    // A forecast that took it for a formula's has not foreseen it, and nobody could have.
    const bool settled_by_chance =
        rung.at_most ? *found->limit < rung.limit : gpu->ladder.varies(rung.rung);
    if (settled_by_chance) return;
    if (apart(*found, rung.limit) > tolerance(forecast_, rung)) {
      comparison_.rungs.push_back({gpu->pci, rung.rung, rung.limit, *found->limit});
    }
  }

  // A parameter that only root may read and nobody could is no difference: the rungs decide.
  void look_at(const std::string& name, const std::string& value) {
    const facts::Text* in_force = now_.machine.parameter(name);
    if (in_force == nullptr || !*in_force || plain(**in_force) == plain(value)) return;
    comparison_.parameters.push_back({name, value, std::string(trim(**in_force))});
  }

  const Forecast& forecast_;
  const facts::Facts& now_;
  Comparison comparison_;
};

}  // namespace

Forecast make_forecast(const facts::Prediction& prediction,
                       std::vector<std::pair<std::string, std::string>> parameters) {
  Forecast forecast;
  forecast.parameters = std::move(parameters);
  for (const Gpu& gpu : prediction.facts.gpus) {
    if (!is_apu(gpu)) continue;
    for (const Rung& rung : gpu.ladder.rungs) {
      if (!is_kept(rung)) continue;
      forecast.rungs.push_back({gpu.pci, rung.name, *rung.limit, rung.binding, rung.at_most});
    }
  }
  const facts::Text& kernel = prediction.facts.machine.kernel;
  if (kernel) forecast.kernel = *kernel;
  return forecast;
}

Comparison compare(const Forecast& forecast, const facts::Facts& now) {
  return Comparer(forecast, now).run();
}

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::as_predicted:
      return "as-predicted";
    case Outcome::differs:
      return "differs";
    case Outcome::not_known:
      return "not-known";
  }
  return "";
}

}  // namespace headroom::plan
