// SPDX-License-Identifier: Apache-2.0
#include "run/proof/soak_steps.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "proof/soak.h"
#include "proof/step_kinds.h"
#include "run/proof/device_watch.h"
#include "run/proof/step_process.h"

namespace headroom::run {
namespace {

using proof::StepResult;

// The load looks at its time between phases; the largest of them fills the device's memory.
constexpr std::chrono::seconds overtime{600};
constexpr const char* load_steps = "soak,soak-memory";
constexpr const char* memory_step = "soak-memory";

std::vector<std::string> words_of(const StepHost& host, const proof::Framework& framework,
                                  const proof::DeviceToTest& device) {
  return {"run",
          std::string(framework.id),
          device.asked_by,
          load_steps,
          "--bytes",
          std::to_string(device.memory.value),
          "--training-steps",
          std::to_string(host.training_steps),
          "--soak-seconds",
          std::to_string(host.soak.count())};
}

std::string why_unwatched(const StepHost& host, const proof::DeviceToTest& device) {
  if (!device.on_gpu()) return "the processor has no such counters that are read here";
  if (device.gpu == nullptr) return "it is not known which of this machine's GPUs this is";
  return host.files == nullptr ? "the machine's files are not read here" : "";
}

// What the load said, and where it did not get so far, how it ended.
StepResult result_of(const EndedSteps& ended, const std::string& name) {
  for (const StepResult& result : ended.results) {
    if (result.name == name) return result;
  }
  StepResult missing;
  missing.name = name;
  missing.detail = "its result did not arrive";
  if (!ended.failed) return missing;
  const bool is_here =
      ended.failed->name == name || (name == proof::soak_step && ended.failed->name != memory_step);
  if (!is_here) {
    missing.detail = "the load before it failed";
    return missing;
  }
  missing = *ended.failed;
  missing.name = name;
  return missing;
}

}  // namespace

Result<std::vector<StepResult>> soak_device(const StepHost& host, const proof::Framework& framework,
                                            const proof::DeviceToTest& device) {
  StepHost bounded = host;
  bounded.whole = host.soak + overtime;
  proof::SoakRecord record;
  record.whole_s = static_cast<double>(host.soak.count());
  record.on_gpu = device.on_gpu();
  record.why_unwatched = why_unwatched(host, device);
  record.kernel_read = host.kernel != nullptr && device.on_gpu();
  std::unique_ptr<DeviceWatch> watch;
  if (record.why_unwatched.empty())
    watch = std::make_unique<DeviceWatch>(host.files, *device.gpu, record.whole_s);
  HEADROOM_TRY(const EndedSteps ended, run_steps(bounded, words_of(host, framework, device),
                                                 device.device, device.on_gpu()));
  if (watch) watch->finish(record);
  record.points = ended.soak;
  record.kernel_resets = ended.gpu_resets;
  std::vector<StepResult> results{result_of(ended, std::string(proof::soak_step)),
                                  result_of(ended, memory_step)};
  for (StepResult& one : proof::judge_soak(record)) results.push_back(std::move(one));
  return results;
}

}  // namespace headroom::run
