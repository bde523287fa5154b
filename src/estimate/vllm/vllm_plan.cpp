// SPDX-License-Identifier: Apache-2.0
#include "estimate/vllm/vllm_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/document.h"

namespace headroom::estimate::vllm {
namespace {

class Search {
 public:
  explicit Search(VllmPlan& plan) : plan_(plan) {}

  void run() {
    if (!plan_.fits || plan_.options.kv_cache_bytes) return;
    find_length();
    if (plan_.memory.holds_at_worst()) return;
    try_one("half the cache's bytes", {"--kv-cache-dtype", "fp8"},
            [](Options& options) { options.kv_cache_dtype = "fp8"; });
    try_one("less for the sampler", {"--max-num-seqs", "16"}, [this](Options& options) {
      options.max_sequences = std::min<std::uint64_t>(16, plan_.memory.rules.max_sequences);
    });
    try_one("shorter chunks of a prompt", {"--max-num-batched-tokens", "1024"},
            [](Options& options) { options.batched_tokens = 1024; });
    try_one("a larger share of the card", {"--gpu-memory-utilization", "0.95"},
            [](Options& options) { options.utilization = 0.95; });
    if (plan_.memory.rules.graphs_in_share)
      try_one("no graphs, which is slower", {"--enforce-eager"},
              [](Options& options) { options.enforce_eager = true; });
    find_cards();
  }

 private:
  template <class Change>
  std::optional<Memory> tried(Change change) const {
    Options options = plan_.options;
    change(options);
    auto memory = measure(plan_.model, options, plan_.card);
    if (!memory || !memory->holds_at_worst()) return std::nullopt;
    return *std::move(memory);
  }

  void keep(std::string what, std::vector<std::string> arguments, const Memory& memory) {
    plan_.fitting.push_back({std::move(what), std::move(arguments), memory.available.low_bytes,
                             memory.cache.concurrency(memory.available.low_bytes)});
  }

  template <class Change>
  void try_one(const std::string& what, const std::vector<std::string>& arguments, Change change) {
    if (const auto memory = tried(change)) keep(what, arguments, *memory);
  }

  // In whole blocks of 16; up to what the model was trained with.
  void find_length() {
    constexpr std::uint64_t step = 16;
    const auto with = [this](std::uint64_t steps) {
      return tried([steps](Options& options) { options.max_length = steps * step; });
    };
    std::uint64_t low = 1;
    std::uint64_t high = std::max(plan_.model.max_positions, plan_.memory.rules.max_length) / step;
    if (high == 0 || !with(low)) return;
    while (low < high) {
      const std::uint64_t middle = low + (high - low + 1) / 2;
      if (with(middle))
        low = middle;
      else
        high = middle - 1;
    }
    if (const auto memory = with(low))
      keep("the longest requests", {"--max-model-len", std::to_string(low * step)}, *memory);
  }

  void find_cards() {
    constexpr std::uint64_t cards_max = 8;
    for (std::uint64_t ranks = 2 * plan_.options.tensor_parallel; ranks <= cards_max; ranks *= 2) {
      const auto memory = tried([ranks](Options& options) { options.tensor_parallel = ranks; });
      if (!memory) continue;
      keep(fmt::format("{} such cards", ranks), {"--tensor-parallel-size", std::to_string(ranks)},
           *memory);
      return;
    }
  }

  VllmPlan& plan_;
};

// V1 does not start where less is free than its share of the card.
bool starts(const VllmPlan& plan) {
  const std::uint64_t taken = plan.card.held_bytes + plan.card.context_bytes;
  const std::uint64_t total = plan.card.total_bytes;
  const std::uint64_t free = total > taken ? total - taken : 0;
  return total == 0 || !plan.memory.rules.v1 || free >= plan.memory.budget_bytes;
}

Verdict verdict_of(const VllmPlan& plan) {
  if (!plan.fits) return Verdict::unknown;
  if (!*plan.fits) return Verdict::does_not_fit;
  return plan.memory.holds_at_worst() ? Verdict::fits : Verdict::borderline;
}

// What the plan took, written out: another version's defaults change nothing then.
std::vector<std::string> arguments_of(const VllmPlan& plan) {
  const Options& options = plan.options;
  const Rules& rules = plan.memory.rules;
  std::vector<std::string> words = {"serve", options.model};
  const auto add = [&words](const char* name, std::string value) {
    words.emplace_back(name);
    if (!value.empty()) words.push_back(std::move(value));
  };
  if (options.dtype != "auto") add("--dtype", options.dtype);
  if (!options.quantization.empty()) add("--quantization", options.quantization);
  if (!options.kv_cache_bytes)
    add("--gpu-memory-utilization", fmt::format("{:.4g}", rules.utilization));
  else
    add("--kv-cache-memory-bytes", std::to_string(*options.kv_cache_bytes));
  add("--max-model-len", std::to_string(rules.max_length));
  add("--max-num-seqs", std::to_string(rules.max_sequences));
  add("--max-num-batched-tokens", std::to_string(rules.batched_tokens));
  if (options.kv_cache_dtype != "auto") add("--kv-cache-dtype", options.kv_cache_dtype);
  if (options.tensor_parallel > 1)
    add("--tensor-parallel-size", std::to_string(options.tensor_parallel));
  if (options.block_size != 16) add("--block-size", std::to_string(options.block_size));
  if (options.enforce_eager) add("--enforce-eager", "");
  return words;
}

void add_share_notes(VllmPlan& plan) {
  const Memory& memory = plan.memory;
  const auto note = [&plan](std::string text) { plan.notes.push_back(std::move(text)); };
  if (!plan.starts)
    note(fmt::format(
        "vLLM asks for {} free memory and does not start with less; others hold {} of the card. "
        "End them, or lower --gpu-memory-utilization.",
        to_string(Bytes{memory.budget_bytes}), to_string(Bytes{plan.card.held_bytes})));
  if (plan.options.enforce_eager || plan.card.total_bytes == 0) return;
  const std::string range = fmt::format("{} to {}", to_string(Bytes{memory.graphs.low_bytes}),
                                        to_string(Bytes{memory.graphs.high_bytes}));
  if (memory.rules.graphs_in_share) {
    note(
        fmt::format("Graphs: {} in load logs, taken from the share before the cache is sized. "
                    "vLLM's own estimate may be more than they take; "
                    "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0 leaves it out.",
                    range));
    return;
  }
  const std::uint64_t left =
      plan.card.total_bytes > memory.budget_bytes ? plan.card.total_bytes - memory.budget_bytes : 0;
  const bool tight = left < plan.card.context_bytes + memory.graphs.high_bytes;
  note(fmt::format("Graphs: {} in load logs, beside the share: {} of the card are left{}.", range,
                   to_string(Bytes{left}),
                   tight ? " for them and the driver's context, which may be too little" : ""));
}

void add_notes(VllmPlan& plan) {
  const auto note = [&plan](std::string text) { plan.notes.push_back(std::move(text)); };
  const Memory& memory = plan.memory;
  const bool compiled = memory.rules.v1 && !plan.options.enforce_eager;
  if (compiled)
    note(
        "The profile run is counted as without torch.compile, whose kernels hold as much or less.");
  if (plan.model.main().experts)
    note(
        "Unproven: the profile run of experts follows the fused kernel's buffers; no load log was "
        "held against it.");
  if (plan.model.stacks.size() > 1)
    note(
        "Unproven: the tower for images is counted in the weights, but not in the profile run; "
        "--limit-mm-per-prompt decides what that takes.");
  if (memory.storage.bits < 16)
    note("Unproven: kernels for quantised weights may repack them or widen their input.");
  if (!plan.options.version && !plan.options.kv_cache_bytes)
    note(
        fmt::format("No version was given: the defaults of the newest are planned, a share of {}. "
                    "--headroom-version 0.10.0 plans an older one.",
                    memory.rules.utilization));
  add_share_notes(plan);
}

}  // namespace

Result<VllmPlan> make_vllm_plan(Architecture model, const Json& config, const Options& options,
                                const Card& card) {
  HEADROOM_CHECK(check_kind(model, config));
  VllmPlan plan;
  plan.model = std::move(model);
  plan.options = options;
  plan.card = card;
  HEADROOM_TRY(plan.memory, measure(plan.model, plan.options, plan.card));
  plan.proven =
      !plan.model.main().experts && plan.model.stacks.size() == 1 && plan.memory.storage.bits >= 16;
  plan.starts = starts(plan);
  if (plan.memory.budget_bytes > 0) plan.fits = plan.starts && plan.memory.holds_at_best();
  plan.verdict = verdict_of(plan);
  plan.arguments = arguments_of(plan);
  if (plan.starts) Search(plan).run();
  add_notes(plan);
  return plan;
}

}  // namespace headroom::estimate::vllm
