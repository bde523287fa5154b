// SPDX-License-Identifier: Apache-2.0
// Reads of one GPU what changes under load: how hard it is driven, and what its hardware counts of
// its own errors. For who puts a load on it, not for check.
#pragma once

#include "facts/gpu.h"
#include "facts/gpu_errors.h"
#include "facts/gpu_strain.h"
#include "machine/files.h"

namespace headroom::probe {

// Of a GPU that sleeps nothing is read, as read_gpu_sensors() does not.
facts::GpuStrain read_gpu_strain(const machine::Files& files, const facts::PciGpu& gpu);

// Of a GPU that is awake: its driver is asked, too (an ioctl of its render node).
facts::GpuErrors read_gpu_errors(const machine::Files& files, const facts::PciGpu& gpu);

}  // namespace headroom::probe
