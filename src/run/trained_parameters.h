// SPDX-License-Identifier: Apache-2.0
// How many parameters of a model are trained, by the planner's own count, and back: which adapters
// have as many as a log says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "run/job_file.h"

namespace headroom::run {

// Of the whole model, or with `targets` ("q,v", "all-linear") of adapters of rank 1 on those
// modules. Fails where the model has none of them.
Result<std::uint64_t> trained_parameters(LoadedJob loaded, const std::string& targets);

struct Adapters {
  std::uint64_t rank = 0;
  std::string targets;
};

// The ranks and modules whose adapters have so many parameters, on usual modules or on `targets` if
// it names some: powers of two first, as nearly all ranks are, and the usual modules first.
std::vector<Adapters> find_adapters(const LoadedJob& model, std::uint64_t trained,
                                    const std::string& targets);

}  // namespace headroom::run
