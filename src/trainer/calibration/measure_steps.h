// SPDX-License-Identifier: Apache-2.0
// Whole steps of small models, measured and beside it what the rates say of them. A step is more
// than its operations one by one: it finds other things in the cache, it allocates, and over
// seconds a processor is slower than in its best moment.
#pragma once

#include <vector>

#include "base/result.h"
#include "estimate/calibration.h"
#include "trainer/calibration/measure_rates.h"
#include "trainer/device_memory.h"

namespace headroom::trainer::calibration {

// Spends about so many seconds. Leaves out models whose threads waited too long for a processor.
// Fails if it was stopped. Throws what libtorch throws.
Result<std::vector<estimate::MeasuredStep>> measure_steps(const estimate::OperationTimes& rates,
                                                          double seconds, DeviceMemory& memory,
                                                          const WantsStop& wants_stop);

}  // namespace headroom::trainer::calibration
