// SPDX-License-Identifier: Apache-2.0
// What an epoch of a job's data is cut into, counted without training: for how long it will take.
#pragma once

#include "base/result.h"
#include "estimate/step_time.h"
#include "run/job_file.h"
#include "trainer/data/sample_set.h"

namespace headroom::trainer::data {

// Reads the samples as training does and cuts the first epoch into its steps; later ones are
// shuffled otherwise and differ little. Fails as reading the samples does, and where there are more
// than 64 MiB of data, which would take longer to read than anybody waits for a plan. Requires:
// loaded.job is planned: nothing is automatic.
Result<estimate::EpochShape> count_epoch(const run::LoadedJob& loaded);

// What part of the first epoch's micro-batches of `micro` samples would be padding if each sample
// had a row of its own.
double padding_unpacked(const SampleSet& samples, std::uint64_t micro, std::uint64_t seed);

}  // namespace headroom::trainer::data
