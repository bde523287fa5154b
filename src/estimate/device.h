// SPDX-License-Identifier: Apache-2.0
// What the planner has to know of the device a job will run on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "estimate/job.h"

namespace headroom::estimate {

struct Device {
  std::optional<Bytes> capacity;  // Of the whole device, before the context.
  Bytes context;                  // What the driver takes for a process before its first tensor.
  Bytes blas_workspace;           // Per handle; PyTorch makes one for forward and one for backward.
  Attention attention = Attention::flash;  // The best kernel it has.
};

// The device the job names: by capacity, by the name or gfx target of a GPU in the knowledge
// tables, or neither. The headroom engine's device is the capacity and nothing else. A name that
// the tables lack is an error that lists the nearest ones.
Result<Device> find_device(const Job& job);

}  // namespace headroom::estimate
