// SPDX-License-Identifier: Apache-2.0
// What several devices did together: the steps of `headroom test --multi`, what of the machine
// explains those that failed, and what works instead. Pure.
#pragma once

#include <string>
#include <vector>

#include "findings/diagnosis.h"
#include "proof/step.h"
#include "proof/step_kinds.h"

namespace headroom::proof {

struct JoinedStep {
  StepResult result;
  std::vector<std::string> between;  // Devices, as TestedDevice::device; of a copy from and to.
  bool is_hung = false;              // Its process gave no sign and was ended.
};

struct JoinedDevice {
  std::string device;  // PCI address, the framework's name where it is not known, or "cpu".
  std::string name;
};

// Of the machine, as `headroom check` finds it.
struct Explanation {
  std::string id;
  std::string title;
};

struct TogetherReport {
  std::string python;
  std::string framework;  // "PyTorch 2.4.1+rocm6.0".
  bool on_gpu = false;    // Otherwise ranks on the processor.
  std::vector<JoinedDevice> devices;
  std::vector<JoinedStep> steps;
  std::vector<Explanation> facts;       // Only where a step failed.
  std::vector<findings::Step> instead;  // What works where something failed; may be empty.
  std::vector<std::string> remarks;
};

bool has_failure(const TogetherReport& report);

// Gives every step that failed its cause, where the log rules found none, with what of the machine
// explains it, and fills in `facts` and `instead`.
void explain(const findings::Diagnosis& diagnosis, TogetherReport& report);

}  // namespace headroom::proof
