// SPDX-License-Identifier: Apache-2.0
// A size that no single tensor of a planned step has, as that of two joined into one: a fused
// weight of q and k, keys and values in one block, gate and up at once. Only what torch.cat could
// join counts (one type, shapes that differ in one axis at most), made close together in the same
// layer and live at one time: any two tensors of a step would explain almost any size.
#pragma once

#include <vector>

#include "estimate/explain.h"
#include "estimate/recorder.h"

namespace headroom::estimate {

// At most three, the most plausible first: two of one shape made one after the other have a doubt
// of 1, others of 2 or 3. Their rank is 0 and up.
std::vector<TensorMatch> find_sums(const PrintedSize& printed, const Recording& recording);

}  // namespace headroom::estimate
