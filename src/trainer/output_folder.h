// SPDX-License-Identifier: Apache-2.0
// The folder a run writes into: made, checked for another run's results and for room, before
// anything is trained.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "trainer/settings.h"

namespace headroom::trainer {

// Makes the folder and OUTPUT/checkpoint. Fails
//   - where a run's results lie there and `resume` is not set: nothing is overwritten;
//   - where `resume` is set and there is no checkpoint;
//   - where the file system has less room than the run will need.
Status open_output(const std::string& folder, bool resume, const FixedBytes& fixed);

// What a run writes at most: the result and two checkpoints, since a new one is whole before the
// old one goes.
Bytes output_bytes(const FixedBytes& fixed);

}  // namespace headroom::trainer
