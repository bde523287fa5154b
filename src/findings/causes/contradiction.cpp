// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/contradiction.h"

#include <algorithm>
#include <utility>

#include "findings/causes/choice.h"

namespace headroom::findings {
namespace {

using logs::Observation;

struct Contradiction {
  std::string_view seen;    // The signature of the line that speaks against the causes.
  std::string_view causes;  // Separated by blanks.
  double keeps;             // How much of the confidence is left.
  std::string_view says;
};

constexpr Contradiction contradictions[] = {
    {"tensor-on-gpu",
     "gfx-target-missing gfx-target-dropped gpu-unsupported driver-not-loaded device-permission "
     "kfd-not-passed wrong-wheel backend-unavailable pcie-atomics",
     0.5, "the GPU computed a result, which rules this cause out"},
    {"kfd-added", "pcie-atomics gpu-unsupported", 0.5, "the kernel's compute driver added a GPU"},
    {"kfd-added", "driver-not-loaded", 0.3, "the kernel's compute driver added a GPU"},
    {"said-not-to-hang", "collective-hang", 0.3, "the program is said not to hang"},
    {"free-in-truth", "vram-held-by-other vram-orphaned job-too-big", 0.5,
     "a driver tool is said to show that the memory is free"},
    {"said:app-bug/index", "gpu-hang", 0.5,
     "the program is said to read beyond a table, which hangs any GPU"},
    {"lsmod-absent", "driver-not-loaded", 0.4,
     "rocminfo called lsmod, which is not installed here, so it cannot know"},
    {"vulkan-allocation-limit", "job-too-big vram-held-by-other fragmentation", 0.6,
     "the limit applies to a single allocation, however much is free"},
    {"said:missing-library", "rocm-version-mismatch", 0.5,
     "the library is said to exist outside the loader's search path"},
    {"kfd-refuses-process", "wrong-wheel", 0.4,
     "the compute driver refuses the process, which happens only with builds for ROCm"},
    // A table's advice about releases is a guess beside a refusal that the log shows.
    {"kfd-refused", "kernel-too-old", 0.5,
     "opening the device is refused, and an old kernel does not do that"},
};

// What holds for one of several GPUs says nothing about the others.
bool may_be_another_gpu(const LogSubject& subject) {
  return subject.scene.gpus.size() > 1;
}

}  // namespace

bool rests_on(const Hypothesis& hypothesis, const Observation& line) {
  return std::any_of(
      hypothesis.evidence.begin(), hypothesis.evidence.end(), [&](const Evidence& one) {
        return one.source == line.log_name && one.line == static_cast<int>(line.line);
      });
}

bool weigh_contradictions(const LogSubject& subject, std::string_view cause,
                          Hypothesis& hypothesis) {
  bool any = false;
  for (const Contradiction& one : contradictions) {
    const Observation* seen = subject.log.first(one.seen);
    // A line that the hypothesis itself rests on does not speak against it.
    if (seen == nullptr || !names_cause(one.causes, cause) || rests_on(hypothesis, *seen)) continue;
    if (one.seen != "kfd-refused" && may_be_another_gpu(subject)) continue;
    speak_against(hypothesis, one.keeps, show(subject, *seen, std::string(one.says)));
    any = true;
  }
  return any;
}

void speak_against(Hypothesis& hypothesis, double keeps, Evidence line) {
  hypothesis.confidence = std::min(hypothesis.confidence * keeps, most_in_doubt);
  hypothesis.against.push_back(std::move(line));
}

}  // namespace headroom::findings
