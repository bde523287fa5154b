// SPDX-License-Identifier: Apache-2.0
// What `headroom test` found of a device: its steps in order, each with what it measured and, where
// it failed, why. These values are its report (docs/schema/test.schema.json).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "findings/finding.h"

namespace headroom::proof {

struct StepCause {
  std::string id;  // docs/causes.md.
  double confidence = 0;
  std::string title;
  std::vector<findings::Evidence> evidence;
  std::vector<findings::Step> fix;
};

struct StepResult {
  std::string name;              // As in step_kinds().
  std::optional<bool> ok;        // Nothing: not done, for the reason in `detail`.
  std::optional<double> figure;  // In `unit`.
  std::string unit;
  std::string detail;
  std::optional<StepCause> cause;  // Only of one that failed.
};

// A device, or the processor, under one framework.
struct TestedDevice {
  std::string device;     // PCI address, "cuda:0" where it is not known, or "cpu".
  std::string name;       // "AMD Radeon RX 7900 XT".
  std::string framework;  // "PyTorch 2.4.1+rocm6.0".
  std::vector<StepResult> steps;
};

struct ProofReport {
  std::string python;  // The interpreter.
  std::vector<TestedDevice> devices;
  std::vector<std::string> remarks;  // What was not tested, and why.
};

bool has_failure(const TestedDevice& device);
bool has_failure(const ProofReport& report);

}  // namespace headroom::proof
