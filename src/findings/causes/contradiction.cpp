// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/contradiction.h"

#include <algorithm>
#include <utility>

#include "findings/causes/choice.h"
#include "findings/causes/exception_chain.h"
#include "findings/causes/recovery.h"
#include "findings/causes/told_story.h"
#include "findings/causes/told_versions.h"

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
    {"kfd-target-listed", "driver-not-loaded kernel-too-old", 0.4,
     "the kernel's compute driver lists the GPU with its target"},
    {"bisected", "job-too-big fragmentation vram-held-by-other gpu-hang free-memory-misreported",
     0.5, "a bisection found the commit that brought it about"},
    {"cpu-counted-as-gpu", "gfx-target-missing gpu-unsupported device-index", 0.4,
     "the program counts a processor as a GPU"},
    {"kfd-counted-by-program", "host-without-kfd kfd-not-passed", 0.6,
     "the program counts in KFD's list, and not through ROCm"},
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
    {"shown:gpu-unsupported", "host-without-kfd", 0.3,
     "the runtime reached the GPU, and does not support it"},
    {"stream-refused", "job-too-big vram-held-by-other fragmentation", 0.4,
     "the call that was refused makes a stream or an event, which takes hardly any memory"},
    {"tiny-matrix", "job-too-big hipblas-workspace fragmentation", 0.6,
     "the job computes with a matrix that fits into any GPU's memory"},
    {"dxg-library-not-loaded", "rocm-version-mismatch", 0.4,
     "the library that would define the symbol was not found"},
    {"radv-no-memory-to-submit", "gpu-hang", 0.4,
     "the driver names a lack of memory as the reason why the device was lost"},
    {"dkms-source-named", "kernel-too-old", 0.5,
     "amdgpu-dkms is installed, which brings a newer driver than the kernel's"},
    // A table's advice about releases is a guess beside a refusal that the log shows.
    {"kfd-refused", "kernel-too-old", 0.5,
     "opening the device is refused, and an old kernel does not do that"},
};

// Causes that are about ROCm's own code for the GPU.
constexpr std::string_view of_rocms_code =
    "gpu-unsupported gfx-target-missing gfx-target-dropped gfx-override-wrong wrong-wheel "
    "rocm-version-mismatch";

// The line in which the run that failed says that it uses Vulkan, without ROCm beside it; nullptr
// if there is none. Of several failures the first one that the hypothesis names counts.
const Observation* failed_with_vulkan(const LogSubject& subject, const Hypothesis& hypothesis) {
  if (hypothesis.evidence.empty()) return nullptr;
  const Evidence& failed = hypothesis.evidence.front();
  const auto log = log_of(subject, failed);
  const Observation* vulkan = nullptr;
  bool has_rocm = false;
  for (const Observation& one : subject.log.all()) {
    if (!log || one.log != *log || static_cast<int>(one.line) >= failed.line) continue;
    if (is_command(one)) {  // Another run begins.
      vulkan = nullptr;
      has_rocm = false;
    }
    if (one.id() == "vulkan-device") vulkan = &one;
    has_rocm |= one.id() == "ggml-device";
  }
  return has_rocm ? nullptr : vulkan;
}

// Where WSL's runtime lists the GPU, what WSL lacks of Linux's driver is nobody's trouble.
bool weigh_reach_in_wsl(const LogSubject& subject, std::string_view cause, Hypothesis& hypothesis) {
  constexpr std::string_view causes =
      "host-without-kfd kfd-not-passed driver-not-loaded device-permission";
  if (!names_cause(causes, cause) || !is_reached_in_wsl(subject.log)) return false;
  const Observation* reached = subject.log.first("agent-name");
  if (reached == nullptr) reached = computed_on_gpu(subject.log);
  constexpr double keeps = 0.3;
  speak_against(hypothesis, keeps,
                show(subject, *reached, "the GPU is reached here, by WSL's way"));
  return true;
}

// A job that another release of a program or of ROCm is said to run on this machine fits into it.
bool weigh_other_release(const LogSubject& subject, std::string_view cause,
                         Hypothesis& hypothesis) {
  if (cause != "job-too-big") return false;
  for (const Component about : {Component::program, Component::torch, Component::rocm}) {
    const ToldVersions told = told_versions(subject.log, about);
    if (!told.is_comparison() || told.told == nullptr) continue;
    if (rests_on(hypothesis, *told.told)) continue;
    constexpr double keeps = 0.6;
    speak_against(hypothesis, keeps,
                  show(subject, *told.told, "another release is said to run the same job"));
    return true;
  }
  return false;
}

// Nor is a job too big that ran before the only change that somebody made.
bool weigh_only_change(const LogSubject& subject, std::string_view cause, Hypothesis& hypothesis) {
  if (cause != "job-too-big" && cause != "fragmentation") return false;
  const Observation* change = only_change_since_it_worked(subject.log);
  if (change == nullptr || rests_on(hypothesis, *change)) return false;
  constexpr double keeps = 0.5;
  speak_against(hypothesis, keeps,
                show(subject, *change, "the same job is said to have run before this change"));
  return true;
}

// A refusal that another build of the framework does not make, with the same options on the same
// machine, is that build's own.
bool weigh_other_build(const LogSubject& subject, std::string_view cause, Hypothesis& hypothesis) {
  const Observation* refused = subject.log.first("hipblaslt-refused");
  if (cause != "unsupported-option" || refused == nullptr || !rests_on(hypothesis, *refused)) {
    return false;
  }
  const ToldVersions told = told_versions(subject.log, Component::torch);
  if (told.told == nullptr || !(told.is_comparison() || told.going_back_helps)) return false;
  constexpr double keeps = 0.35;
  speak_against(hypothesis, keeps,
                show(subject, *told.told, "another build is said to work with the same options"));
  return true;
}

// A card or slot that is broken fails alone as well, unless the card itself counts its errors.
bool weigh_cards_one_by_one(const LogSubject& subject, std::string_view cause,
                            Hypothesis& hypothesis) {
  const Observation* alone = subject.log.first("each-card-works-alone");
  if (cause != "hw-error" || alone == nullptr) return false;
  if (subject.log.any_of({"ras-uncorrectable", "gpu-bad-pages", "hw-exception"})) return false;
  constexpr double keeps = 0.3;
  speak_against(hypothesis, keeps, show(subject, *alone, "each card is said to work alone"));
  return true;
}

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
    if (seen == nullptr && one.seen == "tensor-on-gpu") seen = computed_on_gpu(subject.log);
    // A line that the hypothesis itself rests on does not speak against it.
    if (seen == nullptr || !names_cause(one.causes, cause) || rests_on(hypothesis, *seen)) continue;
    if (one.seen != "kfd-refused" && may_be_another_gpu(subject)) continue;
    speak_against(hypothesis, one.keeps, show(subject, *seen, std::string(one.says)));
    any = true;
  }
  any |= weigh_reach_in_wsl(subject, cause, hypothesis);
  any |= weigh_other_release(subject, cause, hypothesis);
  any |= weigh_only_change(subject, cause, hypothesis);
  any |= weigh_other_build(subject, cause, hypothesis);
  any |= weigh_cards_one_by_one(subject, cause, hypothesis);
  if (!names_cause(of_rocms_code, cause)) return any;
  if (const Observation* vulkan = failed_with_vulkan(subject, hypothesis)) {
    constexpr double keeps = 0.3;
    speak_against(hypothesis, keeps,
                  show(subject, *vulkan,
                       "the run that failed uses Vulkan, which needs no code of "
                       "ROCm's for the GPU"));
    any = true;
  }
  return any;
}

void speak_against(Hypothesis& hypothesis, double keeps, Evidence line) {
  hypothesis.confidence = std::min(hypothesis.confidence * keeps, most_in_doubt);
  hypothesis.against.push_back(std::move(line));
}

}  // namespace headroom::findings
