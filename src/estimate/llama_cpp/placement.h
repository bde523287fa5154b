// SPDX-License-Identifier: Apache-2.0
// Where each layer and each weight goes. Source of the rules: ggml-org/llama.cpp,
// src/llama-model.cpp (load_tensors: split points, the input layer on the host) and
// common/arg.cpp (--override-tensor, --cpu-moe, --n-cpu-moe).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "estimate/llama_cpp/model.h"
#include "estimate/llama_cpp/options.h"

namespace headroom::estimate::llama {

// One GPU that llama.cpp may use.
struct Gpu {
  std::string name;  // "GPU 0"
  std::optional<std::uint64_t> capacity_bytes;
  std::uint64_t context_bytes = 0;  // What the driver takes before the first buffer.
};

struct Placement {
  std::uint32_t gpus = 0;        // Backends 0 to gpus - 1; the CPU is number `gpus`.
  std::uint64_t gpu_layers = 0;  // At most layers + 1: the output counts as one.
  std::vector<std::uint32_t> layer_backend;
  std::uint32_t output_backend = 0;
  std::vector<std::uint32_t> weight_backend;  // By the weight's index.
  // A tied embedding lies twice: as input on the host, as output where the output layer is.
  bool duplicates_embedding = false;
  bool has_overrides = false;

  std::uint32_t cpu() const { return gpus; }
  bool is_whole(const Model& model) const { return gpu_layers > model.layers.size(); }
};

// Fails on a pattern that is no regular expression, and on a GPU that is not there.
Result<Placement> place(const Model& model, const Options& options, const std::vector<Gpu>& gpus);

}  // namespace headroom::estimate::llama
