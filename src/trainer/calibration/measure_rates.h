// SPDX-License-Identifier: Apache-2.0
// What every operation takes at every size of its grid. All of them are gone through several times
// and the shortest time stands, so that what else the machine does for some seconds does not show.
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "estimate/rates.h"

namespace headroom::trainer::calibration {

struct RatesBudget {
  double seconds = 30;  // The first round is finished whatever it takes; no round begins later.
  std::size_t rounds = 4;
};

// Asked between operations; true ends the measuring.
using WantsStop = std::function<bool()>;

// Fails if it was stopped. Throws what libtorch throws. Takes a pool of about 100 MB for each type,
// one after the other.
Result<estimate::OperationTimes> measure_rates(const std::vector<estimate::DType>& dtypes,
                                               const RatesBudget& budget,
                                               const WantsStop& wants_stop);

Error stopped();

}  // namespace headroom::trainer::calibration
