// SPDX-License-Identifier: Apache-2.0
// The kernels that ran while a log was written, and how the job fared on each: a person who boots
// another kernel and tries again makes an experiment. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

struct KernelRun {
  std::string release;  // "6.12.12-amd64".
  const logs::Observation* told = nullptr;
  const logs::Observation* failure = nullptr;
  const logs::Observation* work = nullptr;  // Something ran, and no failure is of this kernel.
};

// In the order in which the log tells them; one of a kernel may come again.
std::vector<KernelRun> find_kernel_runs(const logs::Observations& log);

struct KernelComparison {
  KernelRun fails, works;
  bool newer_works = false;  // Else it is an older kernel that works.
};

// Nothing if one kernel both fails and works, or if all of them fare alike. A newer kernel that
// works is taken before an older one.
std::optional<KernelComparison> compare_kernels(const logs::Observations& log);

}  // namespace headroom::findings
