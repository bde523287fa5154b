// SPDX-License-Identifier: Apache-2.0
// The optimizer between a job and a run: its settings as the job has them, as a report says them,
// and what it keeps.
#pragma once

#include <cstdint>

#include "base/document.h"
#include "estimate/job.h"
#include "trainer/model.h"
#include "trainer/optimizer.h"

namespace headroom::trainer {

// Requires: the engine has the optimizer (estimate::check_engine).
OptimizerSettings make_optimizer_settings(const estimate::Job::Optimizer& optimizer);

// Adds what a report says of them to the report's settings.
void add_to_json(const OptimizerSettings& optimizer, Json& json);

// Bytes of the states of all that trains, masters included where they are wanted.
std::uint64_t state_bytes(const OptimizerSettings& optimizer, bool masters,
                          const estimate::ModelConfig& config, const ModelOptions& options);

}  // namespace headroom::trainer
