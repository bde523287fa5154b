// SPDX-License-Identifier: Apache-2.0
// Everything that a run needs before its model is made: the other ranks, the folder, the data and
// the memory.
#pragma once

#include <memory>
#include <optional>

#include "base/result.h"
#include "trainer/data/split.h"
#include "trainer/device_memory.h"
#include "trainer/output_folder.h"
#include "trainer/ranks/ranks.h"
#include "trainer/run_identity.h"
#include "trainer/training.h"

namespace headroom::trainer {

struct Begun {
  Ranks ranks;
  std::optional<OutputLock> lock;  // Of the rank that writes.
  data::Split samples;
  RunLength length;
  RunIdentity identity;
  std::unique_ptr<DeviceMemory> memory;
};

// Fails as train() does. Several ranks fail together: one that cannot begin ends, and the others
// find it gone.
Result<Begun> begin(const TrainRequest& request, Observer& observer);

}  // namespace headroom::trainer
