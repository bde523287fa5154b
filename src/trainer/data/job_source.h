// SPDX-License-Identifier: Apache-2.0
// Where a job's samples come from and how they are cut into steps, by its file.
#pragma once

#include <optional>
#include <string>

#include "estimate/job.h"
#include "run/job_file.h"
#include "trainer/data/batches.h"
#include "trainer/data/samples.h"
#include "trainer/data/split.h"

namespace headroom::trainer::data {

// Paths become relative to the current folder. Fails where there is a tokenizer of a kind that
// cannot be read.
Result<Source> make_source(const run::LoadedJob& loaded);
Evaluation make_evaluation(const run::LoadedJob& loaded);

// Requires: micro, and accumulate or global, are set.
BatchShape make_batch(const estimate::Job::Batch& batch);

// A folder may hold weights; a config.json or an object has none.
std::optional<std::string> find_model_folder(const run::LoadedJob& loaded);

}  // namespace headroom::trainer::data
