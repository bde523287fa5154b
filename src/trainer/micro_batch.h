// SPDX-License-Identifier: Apache-2.0
// Samples as the tensors of a micro-batch.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "trainer/data/sample_set.h"
#include "trainer/step.h"

namespace headroom::trainer::data {

// The samples of the rows side by side, padded on the right to the longest; of a packed set end to
// end, with no padding (tag other). What is only read has no target. Fails as SampleSet::read()
// does.
Result<MicroBatch> make_micro_batch(const SampleSet& samples, const std::vector<std::size_t>& rows);

}  // namespace headroom::trainer::data
