// SPDX-License-Identifier: Apache-2.0
// Reads a GPU's sensors and counters again and again while a load runs on it. In a thread of its
// own: a driver that resets its device may let a reader wait.
#pragma once

#include <memory>
#include <optional>

#include "facts/gpu.h"
#include "machine/files.h"
#include "machine/periodic.h"
#include "proof/soak.h"

namespace headroom::run {

class DeviceWatch {
 public:
  // Begins to read. `whole_s`: as long as it will go on, about; the longer, the rarer it reads.
  DeviceWatch(std::shared_ptr<const machine::Files> files, const facts::PciGpu& gpu,
              double whole_s);
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;
  ~DeviceWatch();

  // Ends, reads the counters a last time and puts all that was read into `record`; where the driver
  // does not answer any more, why.
  void finish(proof::SoakRecord& record);

 private:
  struct Readings;
  std::shared_ptr<Readings> readings_;
  std::optional<machine::Periodic> periodic_;
};

}  // namespace headroom::run
