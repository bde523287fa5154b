// SPDX-License-Identifier: Apache-2.0
// Reads what the driver measures of a GPU now: for who watches it (`top`, `serve`), not for check.
#pragma once

#include <string>

#include "facts/gpu.h"
#include "facts/gpu_sensors.h"
#include "machine/files.h"

namespace headroom::probe {

// Of a GPU that sleeps nothing is read: every sensor is missing with `asleep`, since older drivers
// wake the GPU for these files.
facts::GpuSensors read_gpu_sensors(const machine::Files& files, const facts::PciGpu& gpu);

// The folder of amdgpu's own sensors below the PCI device's; a card may carry others, for instance
// of its network port. Empty: there is none.
std::string find_hwmon(const machine::Files& files, const std::string& device);

}  // namespace headroom::probe
