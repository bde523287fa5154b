// SPDX-License-Identifier: Apache-2.0
// How hard a GPU is driven at one moment, and how hard it may be: for who puts a load on it.
#pragma once

#include <cstdint>

#include "facts/gpu_sensors.h"
#include "facts/throttling.h"

namespace headroom::facts {

struct GpuStrain {
  GpuSensors sensors;
  Fact<Throttling> throttling;
  // tempN_crit of hwmon: from there on the GPU takes its clocks back.
  Fact<std::uint64_t> edge_limit, junction_limit, memory_limit;  // Millicelsius.
};

}  // namespace headroom::facts
