// SPDX-License-Identifier: Apache-2.0
#include "estimate/vllm/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "base/bytes.h"
#include "base/document.h"

namespace headroom::estimate::vllm {
namespace {

// Of the logs in tests/plan/vllm_logs.toml and of vllm-project/vllm issues 13061 (two GPUs, 0.25
// GiB) and 11251: libraries that PyTorch does not count, and the buffers of NCCL or RCCL.
constexpr Range other_of_one = {(10_MiB).value, (300_MiB).value};
constexpr Range other_of_several = {(200_MiB).value, (2200_MiB).value};
// From 0.09 GiB to 2.4 GiB in logs of "Graph capturing finished"; more for mixtures on many GPUs.
constexpr Range graphs_of_any = {(90_MiB).value, (2458_MiB).value};

std::uint64_t left_of(std::uint64_t all, std::uint64_t taken) {
  return saturating_sub(Bytes{all}, Bytes{taken}).value;
}

bool has_any(const Json& config, std::initializer_list<const char*> keys) {
  return config.is_object() && std::any_of(keys.begin(), keys.end(), [&config](const char* key) {
           const auto found = config.find(key);
           return found != config.end() && !found->is_null();
         });
}

// A model's own config, or that of the text model inside it.
const Json& text_config(const Json& config) {
  const auto found = config.is_object() ? config.find("text_config") : config.end();
  return found != config.end() && found->is_object() ? *found : config;
}

Error not_planned(std::string what) {
  return {
      Errc::unsupported,
      fmt::format("plan: expected a decoder whose layers cache keys and values, found {}, which "
                  "is not planned under vLLM",
                  what),
      "start vLLM with --max-model-len of what you need: its log says what is left for the "
      "cache"};
}

void take_budget(Memory& memory, const Options& options, const Card& card) {
  if (card.total_bytes == 0 && !options.kv_cache_bytes) return;
  if (options.kv_cache_bytes) {
    memory.available = {*options.kv_cache_bytes, *options.kv_cache_bytes};
    memory.budget_bytes = memory.weights_bytes + memory.profile.peak() + *options.kv_cache_bytes +
                          memory.other.high_bytes;
    return;
  }
  memory.budget_bytes =
      static_cast<std::uint64_t>(static_cast<double>(card.total_bytes) * memory.rules.utilization);
  const std::uint64_t known = memory.weights_bytes + memory.profile.peak();
  Range beside = memory.other;
  if (memory.rules.graphs_in_share) {
    beside.low_bytes += memory.graphs.low_bytes;
    beside.high_bytes += memory.graphs.high_bytes;
  }
  memory.available = {left_of(memory.budget_bytes, known + beside.high_bytes),
                      left_of(memory.budget_bytes, known + beside.low_bytes)};
}

}  // namespace

bool Memory::holds_at_best() const {
  return cache.blocks(available.high_bytes) >= cache.request_blocks;
}

bool Memory::holds_at_worst() const {
  return cache.blocks(available.low_bytes) >= cache.request_blocks;
}

Result<Done> check_kind(const Architecture& model, const Json& config) {
  const Json& text = text_config(config);
  if (model.main().attention.latent || has_any(text, {"kv_lora_rank", "q_lora_rank", "index_topk"}))
    return not_planned("latent attention");
  if (model.main().short_convolution) return not_planned("convolutions in the place of attention");
  if (model.main().state_space || !model.main().mixers.empty() ||
      has_any(text, {"mamba_d_state", "ssm_state_size", "linear_num_value_heads", "state_size",
                     "mamba_n_heads"}))
    return not_planned("recurrent layers");
  const Stack& stack = model.main();
  if (stack.cross_attention || stack.role != Stack::Role::decoder || !stack.causal ||
      stack.layers == 0 || model.vocabulary == 0)
    return not_planned(fmt::format("\"{}\"", model.family.substr(0, 80)));
  return Done{};
}

Result<Memory> measure(const Architecture& model, const Options& options, const Card& card) {
  const AttentionShape& shape = model.main().attention;
  const std::uint64_t ranks = options.tensor_parallel;
  if (shape.heads % ranks != 0)
    return Error{Errc::invalid,
                 fmt::format("--tensor-parallel-size: expected a divisor of the model's {} heads, "
                             "found {}",
                             shape.heads, ranks),
                 "vLLM refuses it as well; 2, 4 or 8 divide most models"};
  Memory memory;
  memory.rules = rules_of(options, model.max_positions, card);
  if (memory.rules.max_length == 0)
    return Error{Errc::invalid, "plan: expected a model that says its longest context, found none",
                 "give --max-model-len"};
  HEADROOM_TRY(memory.storage, storage_of(model, options));
  const std::uint64_t type_size = memory.storage.type_size;
  memory.weights_bytes = weights_bytes(model, memory.storage, ranks, memory.rules.max_length);
  memory.profile = profile_run(model, options, memory.rules, type_size, card.blas_workspace_bytes);
  const std::string dtype = type_size == 4 ? "float32" : "half precision";
  memory.cache = cache_layout(model, options, memory.rules, dtype, type_size);
  memory.other = ranks > 1 ? other_of_several : other_of_one;
  if (!options.enforce_eager) memory.graphs = graphs_of_any;
  take_budget(memory, options, card);
  return memory;
}

}  // namespace headroom::estimate::vllm
