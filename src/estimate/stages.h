// SPDX-License-Identifier: Apache-2.0
// Which layers each stage of a split model gets, and what each of them needs: by the same
// description of a step that plans a model which is not split. For engine headroom alone.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/component.h"
#include "base/result.h"
#include "estimate/device.h"
#include "estimate/job.h"
#include "estimate/model_config.h"
#include "estimate/pipeline.h"
#include "estimate/recorder.h"
#include "estimate/step.h"

namespace headroom::estimate {

// One part for each of job.engine.stages, in order; the largest peak of them is as small as it can
// be, and every stage has a layer. Where several ways have the same peak, earlier stages get fewer
// layers. Layers are taken for alike. Fails where the model has fewer layers than there are stages.
Result<std::vector<StagePart>> assign_layers(const Job& job, const ModelConfig& model);

// What a stage holds at its peak: the figures of Plan, of one rank.
struct StagePlan {
  StagePart part;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t reserved_bytes = 0;
  std::uint64_t device_bytes = 0;
  HostPeak host;
  std::uint64_t parameters = 0;  // That it holds; a copy of a tied head among them.
  std::uint64_t adapters = 0;    // Numbers in adapters.
  Phase at = Phase::load;
  allocator::ByComponent components;  // At the peak.
  std::optional<bool> fits;           // Nothing without a capacity.
};
Result<std::vector<StagePlan>> plan_stages(const Job& job, const ModelConfig& model,
                                           const Device& device);

// Of the stages' steps, the one with the highest peak. `steps` as record_headroom() takes them.
Result<Recording> record_largest_stage(const Job& job, const ModelConfig& model,
                                       std::uint64_t steps);

}  // namespace headroom::estimate
