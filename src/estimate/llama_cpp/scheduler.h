// SPDX-License-Identifier: Apache-2.0
// Which device each operation of a graph runs on, and what is copied between them. Source of the
// rules: ggml-org/llama.cpp, ggml/src/ggml-backend.cpp (ggml_backend_sched_split_graph) and
// ggml/src/ggml-cuda/ggml-cuda.cu (which operations a GPU takes over although their weights are in
// host memory).
#pragma once

#include <cstdint>
#include <vector>

#include "estimate/llama_cpp/ggml_graph.h"

namespace headroom::estimate::llama {

struct SchedulerOptions {
  std::uint32_t backends = 1;         // GPUs in order, and the CPU as the last.
  std::uint32_t copies = 1;           // Of inputs: 4 where GPUs work as a pipeline.
  bool copies_unread = true;          // Also of inputs that no operation reads.
  bool offloads = true;               // A GPU takes over large products of weights in host memory.
  std::uint64_t offloaded_from = 32;  // From so many rows on.
};

struct Placed {
  TensorId tensor = 0;
  std::uint32_t backend = 0;
};

// What the graph's allocator goes through, in order.
struct Schedule {
  std::vector<Placed> leafs;
  std::vector<Placed> nodes;
  std::uint64_t splits = 0;
};

// Adds to the graph the copies that the schedule needs.
Schedule make_schedule(Graph& graph, const SchedulerOptions& options);

}  // namespace headroom::estimate::llama
