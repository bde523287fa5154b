// SPDX-License-Identifier: Apache-2.0
// What a model takes under llama.cpp on each device, by the buffers that its load log prints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "estimate/llama_cpp/context.h"
#include "estimate/llama_cpp/model.h"
#include "estimate/llama_cpp/options.h"
#include "estimate/llama_cpp/placement.h"

namespace headroom::estimate::llama {

// The names of the log: "model buffer", "KV buffer", "RS buffer", "compute buffer", "output
// buffer".
struct Buffers {
  std::uint64_t weights_bytes = 0;
  std::uint64_t cache_bytes = 0;
  std::uint64_t states_bytes = 0;
  std::uint64_t compute_bytes = 0;
  std::uint64_t output_bytes = 0;   // The host's alone.
  std::uint64_t context_bytes = 0;  // The driver's; of a GPU.

  std::uint64_t total() const {
    return weights_bytes + cache_bytes + states_bytes + compute_bytes + output_bytes +
           context_bytes;
  }
};

struct Memory {
  Context context;
  Placement placement;
  std::vector<Buffers> gpus;
  Buffers host;
  bool is_pipeline = false;  // Several GPUs at work at once, with four copies of every input.
  std::uint64_t nodes = 0;   // Of the graph of the largest step.
  std::uint64_t splits = 0;

  // Nothing where the capacity of one is not known.
  std::optional<bool> fits(const std::vector<Gpu>& devices) const;
};

// Fails as make_context and place do.
Result<Memory> measure(const Model& model, const Options& options, const std::vector<Gpu>& gpus);

}  // namespace headroom::estimate::llama
