// SPDX-License-Identifier: Apache-2.0
// What the driver measures of a GPU from moment to moment. Not among the facts that `check` reads:
// older drivers wake a sleeping GPU for some of these files, so they are read only of one that is
// awake, and only by who watches it.
#pragma once

#include <cstdint>

#include "facts/fact.h"

namespace headroom::facts {

struct GpuSensors {
  Fact<std::uint64_t> busy_percent;         // gpu_busy_percent: of graphics and compute together.
  Fact<std::uint64_t> memory_busy_percent;  // mem_busy_percent; APUs have none.
  // hwmon (the kernel's Documentation/gpu/amdgpu/thermal.rst), by the labels of its files.
  Fact<std::uint64_t> edge_millicelsius;
  Fact<std::uint64_t> junction_millicelsius;  // Discrete cards from Vega 20 on.
  Fact<std::uint64_t> memory_millicelsius;
  Fact<std::uint64_t> power_microwatts;  // power1_average, else power1_input.
  Fact<std::uint64_t> core_hertz;        // freq1_input.
  Fact<std::uint64_t> memory_hertz;      // freq2_input.
  Fact<std::uint64_t> fan_rpm;
};

}  // namespace headroom::facts
