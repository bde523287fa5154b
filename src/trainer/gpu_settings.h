// SPDX-License-Identifier: Apache-2.0
// Where a job is computed: on the processor with our own loops, or on a GPU that libtorch sees,
// with libtorch's operations (ops/by_libtorch.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "trainer/ranks/rank_place.h"
#include "trainer/settings.h"

namespace headroom::trainer {

// Sets model.device. `asked`: "cpu", "gpu" or "auto", which is the GPU where there is one and it
// can do the job. Several ranks of one machine take its GPUs in turn. Returns what a person should
// know, if anything. Fails (unsupported) where "gpu" cannot be done, and names why.
Result<std::optional<std::string>> choose_device(const std::string& asked, const RankPlace& place,
                                                 Settings& settings);

// GPUs that the runtime counts; 1 where libtorch sees some and nothing here can count them.
int count_gpus();

// How many ranks of this machine, which has so many GPUs, compute on the one of this rank.
std::uint32_t ranks_on_same_gpu(const RankPlace& place, int gpus);

}  // namespace headroom::trainer
