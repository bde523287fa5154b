// SPDX-License-Identifier: Apache-2.0
// gpu-hang: the driver or the runtime reports that the GPU stopped, and nothing says why. A memory
// access fault alone is weaker: it ends the job, has at least four causes, and does not hang the
// GPU by itself.
#include <fmt/format.h>

#include <algorithm>

#include "findings/causes/causes.h"
#include "findings/causes/crash_signs.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

// Whether an override makes this GPU run another target's code, which is the likelier cause of a
// fault.
bool runs_foreign_code(const LogSubject& subject, std::string& value) {
  const facts::Setting* setting = subject.scene.setting("HSA_OVERRIDE_GFX_VERSION");
  const knowledge::Target* target = subject.tables.target(subject.scene.gfx());
  if (setting == nullptr || target == nullptr) return false;
  value = setting->value;
  const auto judged = knowledge::judge_override(*target, value);
  return judged && judged->risk == knowledge::Risk::dangerous;
}

std::string title_of_hang(const LogSubject& subject, const CrashSigns& signs) {
  const std::string gpu = gpu_of(subject.scene);
  const std::string_view then =
      subject.log.seen("gpu-reset") ? ", and the driver reset the GPU" : "";
  if (const auto* ring = subject.log.first("ring-timeout")) {
    return fmt::format("Ring {} of {} made no progress{}", ring->value("ring"), gpu, then);
  }
  if (signs.scheduler != nullptr) {
    return fmt::format("The scheduler of {} stopped answering{}", gpu, then);
  }
  if (signs.stopped != nullptr) return fmt::format("A job hung {}", gpu);
  return fmt::format("A kernel on {} accessed an invalid address", gpu);
}

double confidence_of(const LogSubject& subject, const CrashSigns& signs) {
  if (signs.scheduler != nullptr) return 0.75;
  if (signs.stopped != nullptr) {
    // The driver ended one job, and the GPU went on.
    const bool recovered = signs.stopped->text.find("soft recovered") != std::string::npos &&
                           !subject.log.seen("gpu-reset");
    return recovered ? confidence::possible : 0.75;
  }
  // The runtime ended one process's queue, and neither an address nor the kernel tells more.
  const bool is_queue_alone =
      signs.fault != nullptr && signs.fault->value("kind") == "EXCEPTION" &&
      !subject.log.any_of({"memory-access-fault", "gpu-page-fault", "hip-illegal-access"});
  if (is_queue_alone) return 0.3;
  return subject.log.seen("smu-stuck") && signs.fault == nullptr ? confidence::possible : 0.36;
}

void add_alternatives(const LogSubject& subject, const CrashSigns& signs, Hypothesis& hang) {
  hang.alternatives.push_back(
      {"firmware-bad", confidence::conceivable,
       "sudo grep -E '^(MES|MEC|SDMA)' /sys/kernel/debug/dri/*/amdgpu_firmware_info; uname -r"});
  hang.alternatives.push_back(
      {"rocm-regression", confidence::conceivable,
       "run the same job with a PyTorch of the ROCm release before and after this one"});
  hang.alternatives.push_back({"hw-error", 0.1, "sudo dmesg | grep -iE 'ras|ecc|mce|aer|poison'"});
  for (const logs::Observation* one : subject.log.of("hsa-exception")) {
    if (one->value("kind") != "ILLEGAL_INSTRUCTION") continue;
    hang.alternatives.push_back(
        {"gfx-target-missing", 0.35, "roc-obj-ls LIBRARY.so (lists the targets in it)"});
    break;
  }
  if (signs.fault != nullptr && subject.scene.setting("HSA_OVERRIDE_GFX_VERSION") == nullptr) {
    hang.alternatives.push_back(
        {"gfx-override-wrong", 0.1, "env | grep HSA_OVERRIDE_GFX_VERSION, also in the service"});
  }
}

// Whether the fault is all that there is: no GPU, release, program or other line is known.
bool is_all_there_is(const LogSubject& subject, const logs::Observation& fault) {
  const Scene& scene = subject.scene;
  const bool known = !scene.gpus.empty() || scene.rocm || scene.torch || scene.torch_rocm ||
                     scene.framework || scene.machine.kernel;
  const auto& all = subject.log.all();
  return !known && std::all_of(all.begin(), all.end(), [&](const logs::Observation& one) {
    return one.log == fault.log && one.line == fault.line;
  });
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  const CrashSigns signs = find_crash_signs(subject.log);
  const logs::Observation* first = signs.of_gpu();
  if (first == nullptr) first = subject.log.first_of({"smu-stuck", "hip-launch-failure"});
  // The kernel's own work for the GPU waits for it in vain.
  const bool blocked = first == nullptr && subject.log.seen("driver-work-blocked");
  if (blocked) first = subject.log.first("hung-task");
  if (first == nullptr) return std::nullopt;
  Hypothesis hang;
  hang.confidence = confidence_of(subject, signs);
  if (blocked) hang.confidence = 0.6;
  // Then not even the alternatives can be told apart.
  constexpr double no_answer = 0.3;
  const bool of_address = first->id() == "memory-access-fault";
  if (of_address && is_all_there_is(subject, *first)) hang.confidence = no_answer;
  hang.title = title_of_hang(subject, signs);
  hang.evidence.push_back(show(subject, *first, logs::describe(*first)));
  show_some(subject,
            {"ring-timeout", "mes-timeout", "hws-hang", "gpu-reset", "vram-lost", "hw-exception",
             "memory-access-fault", "gpu-page-fault", "hip-launch-failure"},
            5, hang);
  hang.reasons.emplace_back(
      signs.stopped != nullptr || signs.scheduler != nullptr
          ? "The GPU stopped making progress. The lines do not show which program or firmware is "
            "at fault."
          : "Such a fault can come from code for another target, firmware, one ROCm release, or a "
            "bug in the program or its libraries. The lines do not show which.");
  add_alternatives(subject, signs, hang);
  if (subject.log.seen("device-assert") && signs.stopped == nullptr) {
    hang.confidence = confidence::conceivable;
    hang.alternatives.push_back(
        {"app-bug", 0.6, "run the same step on the CPU: it names the index"});
  }
  std::string value;
  if (runs_foreign_code(subject, value)) {
    hang.confidence *= 0.6;
    hang.reasons.push_back(
        fmt::format("HSA_OVERRIDE_GFX_VERSION={} makes it run another target's code, and that "
                    "alone can cause this.",
                    value));
  }
  hang.fix = {
      sentence("Find the kernel at fault: AMD_SERIALIZE_KERNEL=3 AMD_LOG_LEVEL=3 "
               "HIP_LAUNCH_BLOCKING=1 CMD"),
      sentence(
          "Save the Linux kernel's messages: sudo dmesg -T | grep -iE 'amdgpu|kfd' > dmesg.txt"),
      sentence("Rule out the firmware: sudo cat /sys/kernel/debug/dri/*/amdgpu_firmware_info"),
      sentence("Then change one thing at a time: remove any HSA_OVERRIDE_GFX_VERSION, try a newer "
               "linux-firmware and kernel, try another ROCm release.")};
  return hang;
}

}  // namespace

constinit const CauseRule gpu_hang_cause = {
    .id = "gpu-hang",
    .meaning =
        "The GPU stopped making progress, or was reset, and nothing shows a more specific cause.",
    .why =
        "The driver waits some seconds for a ring or for the scheduler firmware, then resets the "
        "GPU. Every job on it ends, and on discrete cards what is in VRAM is lost.",
    .fix =
        "Find the kernel that hangs. Then rule out the firmware, an override and the ROCm release, "
        "one at a time.",
    .explains = "crash-loop",
    .find = find,
};

}  // namespace headroom::findings
