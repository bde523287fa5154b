// SPDX-License-Identifier: Apache-2.0
// What a config.json asks for beyond shapes. A variant that the trainer does not compute would
// train another model than the one named, without a sign; it is refused instead.
#pragma once

#include <cstdint>

#include "base/document_fwd.h"
#include "base/result.h"
#include "estimate/model_config.h"

namespace headroom::trainer {

// Fails on heads that are turned in part, activations other than the family's (SiLU; of Gemma
// gelu_pytorch_tanh), tokens that see what comes after them, and dropout within the model, naming
// the key. Keys as in transformers' LlamaConfig, MistralConfig, Qwen2Config, Qwen3Config,
// Phi3Config, GemmaConfig and Gemma2Config.
Status check_supported(const Json& config, const estimate::ModelConfig& model);

}  // namespace headroom::trainer
