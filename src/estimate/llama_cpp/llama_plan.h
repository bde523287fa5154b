// SPDX-License-Identifier: Apache-2.0
// The plan of a model under llama.cpp: what it takes, whether it fits, and with which arguments it
// would.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "estimate/llama_cpp/memory.h"
#include "estimate/plan.h"

namespace headroom::estimate::llama {

// A change of the options with which everything fits.
struct Fitting {
  std::string what;                    // "the largest context"
  std::vector<std::string> arguments;  // {"-c", "16384"}
  std::vector<std::uint64_t> gpu_bytes;
  std::uint64_t host_bytes = 0;
};

struct LlamaPlan {
  Model model;
  Options options;
  std::vector<Gpu> gpus;
  Memory memory;
  std::optional<bool> fits;
  Verdict verdict = Verdict::unknown;
  std::vector<Fitting> fitting;        // Best first; where it fits, what more would.
  std::vector<std::string> arguments;  // To type, complete but for the program's name.
  std::vector<std::string> notes;
};

// Fails as measure does.
Result<LlamaPlan> make_llama_plan(Model model, const Options& options, std::vector<Gpu> gpus);

}  // namespace headroom::estimate::llama
