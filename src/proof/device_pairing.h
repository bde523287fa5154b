// SPDX-License-Identifier: Apache-2.0
// Which of the machine's GPUs each device of a framework is, and how much memory a test of it may
// take: what headroom says that a job gets, so that the test proves it.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "facts/facts.h"
#include "proof/step_lines.h"

namespace headroom::proof {

struct DeviceToTest {
  std::string asked_by;  // The framework's own name of it: "cuda:0", "cpu".
  std::string device;    // TestedDevice::device.
  std::string name;
  Bytes memory;  // For the step "memory".
  const facts::Gpu* gpu =
      nullptr;  // Of the facts; nullptr where it is none of AMD's, or not known.

  bool on_gpu() const { return asked_by != "cpu"; }
};

struct Pairing {
  std::vector<DeviceToTest> devices;  // In the framework's order.
  std::vector<const facts::Gpu*>
      unseen;  // GPUs that jobs could use, and the framework does not see.
};

// By PCI address; where the framework does not tell it, by HIP's index, and where each has one GPU
// it is that. `facts` outlives what is returned.
Pairing pair_devices(const std::vector<SeenDevice>& seen, const facts::Facts& facts);

DeviceToTest make_processor(const facts::Facts& facts);

}  // namespace headroom::proof
