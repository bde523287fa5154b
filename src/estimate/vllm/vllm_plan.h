// SPDX-License-Identifier: Apache-2.0
// The plan of a model under vLLM: what weights and the profile run leave of the share of the card,
// how many requests of the full length that holds, and with which arguments more would.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/document_fwd.h"
#include "base/result.h"
#include "estimate/plan.h"
#include "estimate/vllm/memory.h"

namespace headroom::estimate::vllm {

// A change of the options with which a request of the full length fits at worst.
struct Fitting {
  std::string what;                    // "the longest requests"
  std::vector<std::string> arguments;  // {"--max-model-len", "16384"}
  std::uint64_t available_bytes = 0;   // At worst.
  double concurrency = 0;              // Likewise.
};

struct VllmPlan {
  Architecture model;
  Options options;
  Card card;
  Memory memory;
  bool proven = true;  // The rules were held against load logs of such models.
  bool starts = true;  // Others leave as much of the card free as vLLM asks for.
  std::optional<bool> fits;
  Verdict verdict = Verdict::unknown;  // borderline: at best, not at worst.
  std::vector<Fitting> fitting;
  std::vector<std::string> arguments;  // To type, complete but for the program's name.
  std::vector<std::string> notes;
};

// Fails as check_kind and measure do.
Result<VllmPlan> make_vllm_plan(Architecture model, const Json& config, const Options& options,
                                const Card& card);

}  // namespace headroom::estimate::vllm
