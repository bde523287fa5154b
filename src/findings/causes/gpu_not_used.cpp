// SPDX-License-Identifier: Apache-2.0
// gpu-not-used: a person sees the processor at work and the GPU idle, and no line says why.
// Whatever names a reason is the better answer.
#include "findings/causes/access.h"
#include "findings/causes/causes.h"
#include "findings/causes/recovery.h"
#include "findings/causes/told_topics.h"

namespace headroom::findings {
namespace {

using logs::Observation;

bool is_of_amd(const Scene& scene) {
  return (scene.vendor && *scene.vendor == Vendor::amd) || !scene.gpus.empty();
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  const logs::Observations& log = subject.log;
  const Observation* said = log.first("gpu-said-unused");
  if (said == nullptr || !is_of_amd(subject.scene) || subject.scene.is_foreign()) {
    return std::nullopt;
  }
  // A failure, a refusal or a subject that the report comes back to says more.
  const bool works_on_gpu =
      did_its_work(log) || log.any_of({"ollama-gpu-accepted", "ollama-device", "ollama-memory"});
  if (standing_failure(log) != nullptr || works_on_gpu || told_topic(subject)) return std::nullopt;
  Hypothesis unused;
  unused.confidence = 0.45;
  unused.is_told = true;
  unused.title = "The job computes on the processor, and leaves the GPU idle";
  unused.reasons = {
      "The author says so, and no line shows why.",
      "The usual reasons: a build without a back-end for this GPU, a GPU that the build has no "
      "code for, no access to the device, or a setting that keeps the layers on the processor."};
  unused.evidence = {show(subject, *said)};
  const bool windows = platform_of(subject).platform == Platform::windows;
  unused.fix = {
      sentence(
          "See what the program says of GPUs at its start: for ollama \"inference compute\" in "
          "its log (ollama ps shows the share on the GPU), for llama.cpp --list-devices and "
          "\"offloaded N/N layers\"."),
      sentence(windows ? "On Windows, ROCm's builds have code for few integrated GPUs. Use the "
                         "Vulkan back-end, or a build that names this GPU's target."
                       : "See that ROCm lists the GPU for this user: rocminfo | grep gfx"),
      sentence("See that the build has a back-end for it: ROCm or Vulkan.")};
  unused.alternatives = {
      {"gfx-target-missing", 0.2, "the program's first lines, where it lists its devices"},
      {"backend-unavailable", 0.15, "the back-ends that the program lists"},
      {"gpu-unsupported", 0.1, "whether ROCm lists this GPU: rocminfo, or hipInfo on Windows"}};
  return unused;
}

}  // namespace

constinit const CauseRule gpu_not_used_cause = {
    .id = "gpu-not-used",
    .meaning = "The job computes on the processor although there is a GPU, and nothing shows why.",
    .why =
        "Programs that find no GPU they can use continue on the processor without an error. They "
        "say at their start which devices they found.",
    .fix = "Read the program's first lines, and use a build with a back-end and code for this GPU.",
    .explains = "",
    .find = find,
};

}  // namespace headroom::findings
