// SPDX-License-Identifier: Apache-2.0
// Training and generating as eager Hugging Face transformers with PEFT and bitsandbytes run it,
// told to a Tape. One description serves every family: an Architecture says which parts it has.
#pragma once

#include "base/result.h"
#include "estimate/device.h"
#include "estimate/job.h"
#include "estimate/models/architecture.h"
#include "estimate/recorder.h"

namespace headroom::estimate {

// The model as the job's version of transformers makes it, which may not ask its config (T5).
Architecture as_run(Architecture model, const Job& job);

// The sequence for `steps` optimizer steps with `micro` samples of `sequence` tokens at a time, or
// for a prompt and what is generated after it. Adapters, states and gradients appear when they do
// in the real run. Fails where the model cannot do what the job asks (more tokens than it has
// positions). Requires: job.compute.attention and job.batch.micro are set.
Result<Recording> record_transformers(const Job& job, const Architecture& model,
                                      const Device& device, std::uint64_t steps);

}  // namespace headroom::estimate
