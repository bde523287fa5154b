// SPDX-License-Identifier: Apache-2.0
// What one setting takes for any micro-batch, any accumulation and any optimizer, without recording
// each: the search asks thousands of times.
//
// The sizes of a step's tensors are affine in the micro-batch, so one micro-batch recorded with one
// sample and with two gives every other size, rounded as allocators round (512 bytes). What an
// optimizer adds depends on what is trained alone (OptimizerProfile). Where the two recordings are
// not alike, event by event, each micro-batch is recorded.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "estimate/device.h"
#include "estimate/job.h"
#include "estimate/models/architecture.h"
#include "estimate/recorder.h"

namespace headroom::estimate {

// What an optimizer keeps and needs, beside parameters and gradients.
struct OptimizerProfile {
  std::uint64_t masters_bytes = 0;  // From the start.
  std::uint64_t states_bytes = 0;   // From the first step on.
  std::uint64_t step_bytes = 0;     // At most during a step, its states included.
};

OptimizerProfile profile_optimizer(const Job::Optimizer& settings,
                                   const std::vector<Meta>& trainable);

// Of one micro-batch, the optimizer left out.
struct Taking {
  std::uint64_t first_peak_bytes = 0;  // Of a micro-batch that finds no gradients.
  std::uint64_t later_peak_bytes = 0;  // Of one that finds those of the micro-batch before.
  std::uint64_t after_bytes = 0;       // When the optimizer's step begins.
  double written_bytes = 0;            // Of all tensors that it makes.
  double kernels = 0;                  // About as many as it makes tensors.
};

// The peak of live bytes, as make_plan finds it.
std::uint64_t peak_of(const Taking& taking, const OptimizerProfile& optimizer, bool accumulates);

class StepProfile {
 public:
  // Records `job` but for its micro-batch, accumulation and optimizer. Requires: engine
  // transformers, and job.compute.attention is set. Fails as record_step does.
  static Result<StepProfile> make(const Job& job, const Architecture& model, const Device& device);

  // Requires: the model and the device of make() still exist.
  Result<Taking> at(std::uint64_t micro) const;

  const std::vector<Meta>& trainable() const { return trainable_; }
  std::uint64_t weights_bytes() const { return weights_bytes_; }  // With adapters.

 private:
  struct Size {
    double fixed = 0;       // Bytes whatever the batch …
    double per_sample = 0;  // … and for each sample more.
  };

  StepProfile(const Job& job, const Architecture& model, const Device& device)
      : job_(job), model_(&model), device_(&device) {}
  static Taking measure(const Recording& recording, const std::vector<Size>& sizes,
                        std::uint64_t micro);

  Job job_;
  const Architecture* model_;
  const Device* device_;
  Recording recording_;
  std::vector<Size> sizes_;  // Empty: the micro-batches are not alike.
  std::vector<Meta> trainable_;
  std::uint64_t weights_bytes_ = 0;
};

}  // namespace headroom::estimate
