// SPDX-License-Identifier: Apache-2.0
// What a model's weights take on one GPU under vLLM: matrices are fused (q, k and v; gate and up)
// and split over the GPUs, norms and the like are on each. Source: vllm-project/vllm,
// vllm/model_executor/layers/linear.py, vocab_parallel_embedding.py and models/llama.py.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "estimate/models/architecture.h"
#include "estimate/vllm/options.h"

namespace headroom::estimate::vllm {

// How the matrices of layers are held; everything else is in the model's type.
struct Storage {
  std::string name;             // "bfloat16", "fp8", "awq"
  double bits = 16;             // Of an element, with the scales of its group.
  std::uint64_t type_size = 2;  // Of activations, and of what is not quantised.
};

// From --dtype, --quantization and the checkpoint. Fails on a method that is not planned.
Result<Storage> storage_of(const Architecture& model, const Options& options);

// With what PyTorch's allocator rounds up to, as it is counted in "model weights take". Where the
// model's files are at hand and hold packed weights, their sizes are taken.
std::uint64_t weights_bytes(const Architecture& model, const Storage& storage,
                            std::uint64_t tensor_parallel, std::uint64_t max_length);

}  // namespace headroom::estimate::vllm
