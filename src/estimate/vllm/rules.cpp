// SPDX-License-Identifier: Apache-2.0
#include "estimate/vllm/rules.h"

#include <algorithm>

#include "base/text.h"

namespace headroom::estimate::vllm {
namespace {

constexpr Version v1_by_default{0, 8, 0};
constexpr Version v1_alone{0, 11, 0};
constexpr Version large_cards_by_memory{0, 9, 0};
constexpr Version sampler_in_place{0, 17, 0};
// 0.9 until then; the first release with 0.92 was not looked up, 0.18 still shows 0.9.
constexpr Version graphs_estimated{0, 21, 0};
constexpr std::uint64_t large_card_bytes = std::uint64_t{70} << 30U;
constexpr std::uint64_t long_context = 32768;  // V0 prefills in chunks from here on.

bool is_before(const Options& options, Version version) {
  return options.version && *options.version < version;
}

bool is_v1(const Options& options) {
  if (!options.version || *options.version >= v1_alone) return true;
  return options.use_v1.value_or(*options.version >= v1_by_default);
}

void take_v0_defaults(Rules& rules, const Options& options) {
  rules.chunked_prefill = options.chunked_prefill.value_or(rules.max_length > long_context);
  rules.max_sequences = options.max_sequences.value_or(256);
  constexpr std::uint64_t chunk = 2048;
  rules.batched_tokens = options.batched_tokens.value_or(
      rules.chunked_prefill ? chunk : std::max(rules.max_length, chunk));
}

// Offered to a server; a script's LLM(...) takes twice or four times the tokens.
void take_v1_defaults(Rules& rules, const Options& options, const Card& card) {
  const bool large = card.total_bytes >= large_card_bytes &&
                     to_lower(card.name).find("a100") == std::string::npos &&
                     !is_before(options, large_cards_by_memory);
  rules.max_sequences = options.max_sequences.value_or(large ? 1024 : 256);
  rules.batched_tokens = options.batched_tokens.value_or(
      std::min<std::uint64_t>(large ? 8192 : 2048, rules.max_sequences * rules.max_length));
}

}  // namespace

Rules rules_of(const Options& options, std::uint64_t trained_length, const Card& card) {
  Rules rules;
  rules.v1 = is_v1(options);
  rules.max_length = options.max_length.value_or(trained_length);
  rules.utilization =
      options.utilization.value_or(is_before(options, graphs_estimated) ? 0.9 : 0.92);
  rules.sorts_logits = !rules.v1 || is_before(options, sampler_in_place);
  rules.graphs_in_share = rules.v1 && !options.enforce_eager &&
                          options.estimate_graphs.value_or(!is_before(options, graphs_estimated));
  if (rules.v1)
    take_v1_defaults(rules, options, card);
  else
    take_v0_defaults(rules, options);
  return rules;
}

}  // namespace headroom::estimate::vllm
