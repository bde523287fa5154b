// SPDX-License-Identifier: Apache-2.0
// The highest moment of the run with which vLLM finds out how much memory it needs beside weights
// and cache: as many tokens as a step may have, then the sampler over as many sequences. Sources:
// vllm-project/vllm, profile_run of vllm/worker/model_runner.py (V0) and
// vllm/v1/worker/gpu_model_runner.py.
#pragma once

#include <cstdint>
#include <string_view>

#include "estimate/models/architecture.h"
#include "estimate/vllm/options.h"
#include "estimate/vllm/rules.h"

namespace headroom::estimate::vllm {

struct ProfileRun {
  std::uint64_t layer_bytes = 0;    // The highest moment within a layer.
  std::uint64_t sampler_bytes = 0;  // Logits and what is made of them, beside the hidden states.
  std::uint64_t workspace_bytes = 0;

  // "PyTorch activation peak memory takes"
  std::uint64_t peak() const {
    return (layer_bytes > sampler_bytes ? layer_bytes : sampler_bytes) + workspace_bytes;
  }
  std::string_view decided_by() const {
    return layer_bytes > sampler_bytes ? "a layer" : "the sampler";
  }
};

ProfileRun profile_run(const Architecture& model, const Options& options, const Rules& rules,
                       std::uint64_t type_size, std::uint64_t workspace_bytes);

}  // namespace headroom::estimate::vllm
