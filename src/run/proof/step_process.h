// SPDX-License-Identifier: Apache-2.0
// One process of the user's Python that does steps, one after the other, and how it ended. Steps
// run in a process of their own because a driver's fault takes the whole process with it, and one
// that hangs never gives it back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "proof/step_lines.h"
#include "run/proof/step_host.h"

namespace headroom::run {

struct EndedSteps {
  // What it said.
  std::vector<proof::StepResult> results;
  std::optional<std::vector<proof::SeenDevice>> devices;
  std::string version;
  std::optional<std::vector<std::string>> frameworks;
  proof::TrainingProgress training;
  std::vector<proof::SoakPoint> soak;
  std::size_t gpu_resets = 0;  // Lines of the kernel about resets of a GPU, meanwhile.
  // The step that it was in when it failed, with why; without a name where that was between steps.
  // Nothing where it ended well.
  std::optional<proof::StepResult> failed;
  bool is_hung = false;
  bool has_ended = true;  // false: the process waits in the kernel and cannot be ended.
};

// `on_gpu`: the steps are a GPU's, unless the program tells that it sees none. Runs `words` of the
// program headroom_steps and blocks until it has ended, and all that came from it; what hangs is
// ended by SIGKILL. Fails where the interpreter cannot be started.
Result<EndedSteps> run_steps(const StepHost& host, const std::vector<std::string>& words,
                             const std::string& device, bool on_gpu);

}  // namespace headroom::run
