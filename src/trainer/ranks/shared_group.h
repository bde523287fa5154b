// SPDX-License-Identifier: Apache-2.0
// The ranks of one machine, in one segment of shared memory (averager/averager.h).
#pragma once

#include <cstdint>
#include <memory>

#include "averager/averager.h"
#include "base/result.h"
#include "trainer/ranks/group.h"
#include "trainer/ranks/rank_place.h"

namespace headroom::trainer {

// Waits until all ranks are there. `job` is a number that ranks of one job have in common. Fails
// where one does not come in a minute, is of another job, or /dev/shm has no room.
// `message_bytes`: the largest that passes between neighbours; 0: nothing does.
//
// Memory: at most 16 MiB for each rank in /dev/shm, and twice the largest message. The segment
// loses its name as soon as all ranks have met, so nothing stays behind however they end; where
// lost ones may come back, the last one that leaves takes it away, or who started them.
Result<std::unique_ptr<RankGroup>> join_shared_memory(
    const RankPlace& place, std::uint64_t job,
    std::shared_ptr<averager::SharedMapping> mapping = nullptr, std::uint64_t message_bytes = 0);

}  // namespace headroom::trainer
