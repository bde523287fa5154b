// SPDX-License-Identifier: Apache-2.0
// What is said of a checkpoint from which a run goes on.
#pragma once

#include <string>
#include <vector>

#include "trainer/checkpoint.h"

namespace headroom::trainer {

// Where it goes on, and what of the checkpoint is not as one that this processor writes.
std::vector<std::string> resume_notes(const LoadedCheckpoint& loaded, bool on_gpu);

}  // namespace headroom::trainer
