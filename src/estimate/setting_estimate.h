// SPDX-License-Identifier: Apache-2.0
// What a setting would take and how fast it would be, for the search: near the plan's own answer,
// and a hundred times cheaper. Whatever is shown to a person is planned in full afterwards.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "estimate/device.h"
#include "estimate/job.h"
#include "estimate/models/architecture.h"
#include "estimate/speed.h"
#include "estimate/step_profile.h"

namespace headroom::estimate {

struct SettingEstimate {
  std::uint64_t allocated_bytes = 0;
  double tokens_per_second = 0;
};

// Of one setting of kernels, types and method, with any batch and any optimizer. One thread.
class SettingEstimator {
 public:
  // Fails where the job's engine cannot do it. The model and the device outlive this. Requires:
  // job.compute.attention is set, and job.compute.checkpointing is not automatic.
  static Result<SettingEstimator> make(const Job& job, const Architecture& model,
                                       const Device& device);

  // `job` is make()'s but for its micro-batch, accumulation and optimizer; those of its batch are
  // set.
  Result<SettingEstimate> at(const Job& job);

 private:
  SettingEstimator(const Architecture& model, const Device& device)
      : model_(&model), device_(&device) {}
  Result<SettingEstimate> record(const Job& job) const;

  const Architecture* model_;
  const Device* device_;
  std::optional<StepProfile> profile_;          // Nothing: each is recorded (engine headroom).
  std::map<std::uint64_t, Taking> takings_;     // By micro-batch.
  std::map<int, OptimizerProfile> optimizers_;  // By kind and the flags that matter.
};

}  // namespace headroom::estimate
