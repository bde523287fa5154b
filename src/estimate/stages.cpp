// SPDX-License-Identifier: Apache-2.0
#include "estimate/stages.h"

#include <fmt/format.h>

#include <algorithm>

#include "allocator/models/make_policy.h"
#include "base/bytes.h"
#include "estimate/headroom_engine.h"

namespace headroom::estimate {
namespace {

// The first step's states and the second one's are the same tensors: two steps show the peak.
constexpr std::uint64_t recorded_steps = 2;

std::uint64_t peak_of(const Recording& recording) {
  constexpr std::uint64_t block = 512;
  std::uint64_t live = 0, peak = 0;
  for (const Event& event : recording.events) {
    const std::uint64_t bytes =
        round_up(std::max<std::uint64_t>(recording.tensors[event.tensor].meta.bytes(), 1), block);
    if (event.kind == Event::Kind::release) live -= bytes;
    if (event.kind != Event::Kind::allocate) continue;
    live += bytes;
    peak = std::max(peak, live);
  }
  return peak;
}

// Of a stage with so many layers, wherever they lie.
std::uint64_t peak_with(const Job& job, const ModelConfig& model, std::uint32_t stage,
                        std::uint64_t layers) {
  return peak_of(
      record_headroom(job, model, recorded_steps,
                      {stage, static_cast<std::uint32_t>(job.engine.stages), 0, layers}));
}

void count_numbers(const Recording& recording, StagePlan& plan) {
  for (const RecordedTensor& tensor : recording.tensors) {
    const bool adapter = tensor.component == Component::adapters;
    if (!adapter && tensor.component != Component::weights) continue;
    plan.parameters += tensor.meta.elements();
    if (adapter) plan.adapters += tensor.meta.elements();
  }
}

}  // namespace

// A stage's peak grows with its layers. So giving each next layer to the stage that is smallest
// with it takes the smallest steps there are, and none of them is larger than it has to be.
Result<std::vector<StagePart>> assign_layers(const Job& job, const ModelConfig& model) {
  const auto stages = static_cast<std::uint32_t>(job.engine.stages);
  if (model.layers < stages)
    return Error{Errc::invalid,
                 fmt::format("expected at most {}, because the model has that many layers and "
                             "every stage needs one; found {}",
                             model.layers, stages),
                 fmt::format("write stages = {}", model.layers)}
        .at("engine.stages");
  std::vector<std::uint64_t> layers(stages, 1), next_peak;
  for (std::uint32_t stage = 0; stage < stages; ++stage)
    next_peak.push_back(peak_with(job, model, stage, 2));
  for (std::uint64_t given = stages; given < model.layers; ++given) {
    const auto smallest = std::min_element(next_peak.rbegin(), next_peak.rend());
    const auto stage = static_cast<std::uint32_t>(std::distance(smallest, next_peak.rend()) - 1);
    ++layers[stage];
    *smallest = peak_with(job, model, stage, layers[stage] + 1);
  }
  std::vector<StagePart> parts;
  std::uint64_t first = 0;
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    parts.push_back({stage, stages, first, first + layers[stage]});
    first += layers[stage];
  }
  return parts;
}

Result<std::vector<StagePlan>> plan_stages(const Job& job, const ModelConfig& model,
                                           const Device& device) {
  HEADROOM_TRY(const std::vector<StagePart> parts, assign_layers(job, model));
  std::vector<StagePlan> plans;
  for (const StagePart& part : parts) {
    const Recording recording = record_headroom(job, model, recorded_steps, part);
    HEADROOM_TRY(auto plenty, allocator::make_policy(job.device.allocator));
    Peak peak = replay(recording, *plenty);
    StagePlan& plan = plans.emplace_back();
    plan.part = part;
    plan.allocated_bytes = peak.usage.live_peak_bytes;
    plan.host = recording.host;
    plan.at = peak.at;
    plan.components = peak.usage.live_at_peak;
    count_numbers(recording, plan);
    if (device.capacity) {
      const Bytes room = saturating_sub(*device.capacity, device.context);
      plan.fits = !peak.failed && peak.usage.reserved_peak_bytes <= room.value;
      if (!*plan.fits) {
        HEADROOM_TRY(auto capped, allocator::make_policy(job.device.allocator, room.value));
        const Peak within = replay(recording, *capped);
        plan.fits = !within.failed;
        if (*plan.fits) peak = within;
      }
    }
    plan.reserved_bytes = peak.usage.reserved_peak_bytes;
    plan.device_bytes = plan.reserved_bytes + device.context.value;
  }
  return plans;
}

Result<Recording> record_largest_stage(const Job& job, const ModelConfig& model,
                                       std::uint64_t steps) {
  HEADROOM_TRY(const std::vector<StagePart> parts, assign_layers(job, model));
  std::optional<Recording> largest;
  for (const StagePart& part : parts) {
    Recording recording = record_headroom(job, model, steps, part);
    if (!largest || peak_of(recording) > peak_of(*largest)) largest = std::move(recording);
  }
  return *std::move(largest);
}

}  // namespace headroom::estimate
