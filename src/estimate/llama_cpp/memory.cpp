// SPDX-License-Identifier: Apache-2.0
#include "estimate/llama_cpp/memory.h"

#include <algorithm>

#include "base/bytes.h"
#include "estimate/llama_cpp/graph_allocator.h"
#include "estimate/llama_cpp/network.h"
#include "estimate/llama_cpp/scheduler.h"

namespace headroom::estimate::llama {
namespace {

constexpr std::uint64_t gpu_alignment = 128;     // ggml-cuda.cu, for CUDA and HIP.
constexpr std::uint64_t host_alignment = 32;     // ggml.h, GGML_MEM_ALIGN of the CPU's backend.
constexpr std::uint64_t gpu_row_elements = 512;  // ggml-cuda.cu, MATRIX_ROW_PADDING.
constexpr std::uint32_t pipeline_copies = 4;     // ggml-backend.cpp, GGML_SCHED_MAX_COPIES.

std::uint64_t on_gpu(const Weight& weight) {
  std::uint64_t bytes = weight.bytes;
  const std::uint64_t rest = weight.ne[0] % gpu_row_elements;
  if (is_quantised(weight.type) && rest != 0)
    bytes += row_bytes(weight.type, gpu_row_elements - rest);
  return round_up(bytes, gpu_alignment);
}

void add_weights(const Model& model, const Options& options, Memory& memory) {
  std::uint64_t first = UINT64_MAX;
  std::uint64_t end = 0;
  std::uint64_t held = 0;
  for (std::size_t i = 0; i < model.weights.size(); ++i) {
    const Weight& weight = model.weights[i];
    const std::uint32_t home = memory.placement.weight_backend[i];
    if (home != memory.placement.cpu()) {
      memory.gpus[home].weights_bytes += on_gpu(weight);
      continue;
    }
    first = std::min(first, weight.offset);
    end = std::max(end, weight.offset + weight.bytes);
    held += round_up(weight.bytes, host_alignment);
  }
  // A mapped file counts from the first of the host's tensors to the last.
  memory.host.weights_bytes = options.mmap && end > first ? end - first : held;
  const Weight* embedding = model.find("token_embd.weight");
  if (memory.placement.duplicates_embedding && embedding != nullptr)
    memory.gpus[memory.placement.output_backend].weights_bytes += on_gpu(*embedding);
}

bool is_pipeline(const Model& model, const Options& options, const Placement& placement) {
  return placement.gpus > 1 && placement.is_whole(model) &&
         options.split_mode == SplitMode::layer && options.kv_offload && !placement.has_overrides;
}

void add_compute(const Model& model, const Options& options, Memory& memory) {
  const std::uint32_t backends = memory.placement.gpus + 1;
  Graph graph = build_graph(model, options, memory.context, memory.placement);
  memory.nodes = graph.nodes().size();
  SchedulerOptions scheduling;
  scheduling.backends = backends;
  scheduling.offloads = options.op_offload;
  scheduling.copies = memory.is_pipeline ? pipeline_copies : 1;
  scheduling.copies_unread = memory.context.build.copies_unread_inputs;
  const Schedule schedule = make_schedule(graph, scheduling);
  memory.splits = schedule.splits;
  std::vector<std::uint64_t> alignments(backends, gpu_alignment);
  alignments.back() = host_alignment;
  const std::vector<std::uint64_t> sizes = reserve(graph, schedule, alignments);
  for (std::size_t i = 0; i < memory.gpus.size(); ++i) memory.gpus[i].compute_bytes = sizes[i];
  memory.host.compute_bytes = sizes.back();
}

}  // namespace

std::optional<bool> Memory::fits(const std::vector<Gpu>& devices) const {
  bool all = true;
  for (std::size_t i = 0; i < gpus.size() && i < devices.size(); ++i) {
    if (!devices[i].capacity_bytes) return std::nullopt;
    // A GPU that is given nothing is not touched.
    const bool used = gpus[i].total() > gpus[i].context_bytes;
    all = all && (!used || gpus[i].total() <= *devices[i].capacity_bytes);
  }
  return all;
}

Result<Memory> measure(const Model& model, const Options& options, const std::vector<Gpu>& gpus) {
  Memory memory;
  HEADROOM_TRY(memory.context, make_context(model, options));
  HEADROOM_TRY(memory.placement, place(model, options, gpus));
  memory.gpus.resize(gpus.size());
  memory.is_pipeline = is_pipeline(model, options, memory.placement);
  add_weights(model, options, memory);
  const CacheBytes caches = cache_bytes(model, options, memory.context, memory.placement);
  for (std::size_t i = 0; i <= gpus.size(); ++i) {
    Buffers& buffers = i < gpus.size() ? memory.gpus[i] : memory.host;
    buffers.cache_bytes = caches.keys_values[i];
    buffers.states_bytes = caches.states[i];
    if (i < gpus.size()) buffers.context_bytes = gpus[i].context_bytes;
  }
  // One row of logits for each sequence, until a step asks for more.
  memory.host.output_bytes = model.vocabulary * 4 * memory.context.sequences;
  add_compute(model, options, memory);
  return memory;
}

}  // namespace headroom::estimate::llama
