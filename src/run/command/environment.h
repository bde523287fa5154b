// SPDX-License-Identifier: Apache-2.0
// The environment that a command gets: ours, without what is known to break jobs on this machine's
// GPUs and with what they need, each change in words. Nothing is touched where the machine has no
// AMD GPU or its facts are not known; everything follows from the knob audit's judgement and from
// the suitability of the GPUs, so that `headroom check --env` says the same.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "facts/facts.h"
#include "findings/diagnosis.h"
#include "knowledge/gpu_tables.h"

namespace headroom::run {

struct CommandEnvironment {
  std::vector<std::string> variables;  // NAME=VALUE.
  std::vector<std::string> said;       // One sentence for each change.
};

// What is known of the machine; `facts` is nullptr where it could not be looked at.
struct KnownMachine {
  const facts::Facts* facts = nullptr;
  const findings::Diagnosis* diagnosis = nullptr;
};

// `environment`: NUL-separated NAME=VALUE.
std::vector<std::string> to_variables(const std::string& environment);

// Takes out and sets what this machine's GPUs ask for.
CommandEnvironment clean_environment(std::vector<std::string> variables,
                                     const KnownMachine& machine,
                                     const knowledge::GpuTables& tables);

// Shows the command these GPUs alone: "0", "0,2", "GPU-8f3a…". HIP and CUDA masks get the same
// list, because vLLM refuses to start where they differ and HIP prefers its own (vllm-project/vllm:
// vllm/platforms/rocm.py; ROCm/clr: rocclr/utils/flags.hpp). ROCR_VISIBLE_DEVICES stays as it is: a
// batch system may have set it, and Ray refuses it (ray-project/ray: amd_gpu.py). So the list
// counts among the GPUs that it leaves. With an NVIDIA card and no AMD GPU, only CUDA's is set.
// Fails with what is wrong in the list.
Status set_devices(const std::string& list, const KnownMachine& machine,
                   CommandEnvironment& environment);

}  // namespace headroom::run
