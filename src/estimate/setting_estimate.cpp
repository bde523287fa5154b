// SPDX-License-Identifier: Apache-2.0
#include "estimate/setting_estimate.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/require.h"
#include "estimate/engine_support.h"
#include "estimate/step.h"

namespace headroom::estimate {
namespace {

int key_of(const Job::Optimizer& optimizer) {
  return static_cast<int>(optimizer.kind) * 8 + (optimizer.foreach ? 4 : 0) +
         (optimizer.offload ? 2 : 0) + (optimizer.master == Master::fp32 ? 1 : 0);
}

Effort effort_of(const Taking& taking, const StepProfile& profile) {
  Effort effort{taking, profile.weights_bytes(), 0, 0, 0};
  for (const Meta& meta : profile.trainable()) {
    effort.trainable_bytes += meta.bytes();
    effort.trainable_elements += meta.elements();
  }
  return effort;
}

}  // namespace

Result<SettingEstimator> SettingEstimator::make(const Job& job, const Architecture& model,
                                                const Device& device) {
  require(job.compute.attention && job.compute.checkpointing != Checkpointing::automatic,
          "a setting names its attention kernel and its checkpointing");
  HEADROOM_CHECK(check_engine(job));
  SettingEstimator estimator(model, device);
  if (job.engine.kind == EngineKind::transformers && !model.graph) {
    HEADROOM_TRY(estimator.profile_, StepProfile::make(job, model, device));
  }
  return estimator;
}

Result<SettingEstimate> SettingEstimator::at(const Job& job) {
  if (!profile_) return record(job);
  const std::uint64_t micro = *job.batch.micro;
  auto found = takings_.find(micro);
  if (found == takings_.end()) {
    HEADROOM_TRY(const Taking taking, profile_->at(micro));
    found = takings_.emplace(micro, taking).first;
  }
  const Taking& taking = found->second;
  OptimizerProfile optimizer;
  if (job.method.kind != MethodKind::inference) {
    const auto [place, is_new] = optimizers_.try_emplace(key_of(job.optimizer));
    if (is_new) place->second = profile_optimizer(job.optimizer, profile_->trainable());
    optimizer = place->second;
  }
  return SettingEstimate{peak_of(taking, optimizer, *job.batch.accumulate > 1),
                         tokens_per_second(job, *model_, *device_, effort_of(taking, *profile_))};
}

Result<SettingEstimate> SettingEstimator::record(const Job& job) const {
  HEADROOM_TRY(const Recording recording, record_step(job, *model_, *device_));
  Effort effort;
  std::uint64_t live = 0;
  std::uint64_t peak = 0;
  for (const Event& event : recording.events) {
    const RecordedTensor& tensor = recording.tensors[event.tensor];
    const std::uint64_t bytes = round_up(std::max<std::uint64_t>(tensor.meta.bytes(), 1), 512);
    if (event.kind == Event::Kind::release) live -= bytes;
    if (event.kind != Event::Kind::allocate) continue;
    live += bytes;
    peak = std::max(peak, live);
    if (event.phase == Phase::forward || event.phase == Phase::backward) {
      effort.taking.written_bytes += static_cast<double>(bytes);
      effort.taking.kernels += 1;
    }
    if (event.phase == Phase::load) effort.weights_bytes += bytes;
  }
  // Two steps are recorded, each with at most two micro-batches.
  const double passes = *job.batch.accumulate > 1 ? 4 : 2;
  effort.taking.written_bytes /= passes;
  effort.taking.kernels /= passes;
  // What comes back from host memory is among the tensors above.
  effort.taking.written_bytes +=
      static_cast<double>(recording.host.components[Component::activations]);
  effort.offloaded_bytes = recording.host.components[Component::optimizer];
  effort.trainable_bytes = job.method.kind == MethodKind::full ? effort.weights_bytes : 0;
  return SettingEstimate{peak, tokens_per_second(job, *model_, *device_, effort)};
}

}  // namespace headroom::estimate
