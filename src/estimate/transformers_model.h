// SPDX-License-Identifier: Apache-2.0
// One training step of a decoder-only model as eager Hugging Face transformers and PEFT run it,
// told to a Tape. Llama, Mistral and Qwen2 share it (sources: modeling_llama.py and
// modeling_qwen2.py there, tuners/lora/layer.py in PEFT).
#pragma once

#include "estimate/device.h"
#include "estimate/job.h"
#include "estimate/model_config.h"
#include "estimate/recorder.h"

namespace headroom::estimate {

// The sequence for `steps` optimizer steps with `micro` samples of `sequence` tokens at a time.
// Adapters, states and gradients appear when they do in the real run. Requires:
// job.compute.attention is set; job.batch.micro is set.
Recording record_transformers(const Job& job, const ModelConfig& model, const Device& device,
                              std::uint64_t steps);

}  // namespace headroom::estimate
