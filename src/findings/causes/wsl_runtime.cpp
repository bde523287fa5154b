// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/wsl_runtime.h"

#include <re2/re2.h>

#include <algorithm>

#include "facts/kernel_release.h"
#include "findings/causes/access.h"
#include "findings/causes/failed_allocation.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using logs::Observation;

// Wheels of download.pytorch.org name ROCm by two numbers, "2.8.0+rocm6.4"; those of AMD, among
// them the ones for WSL, by three or more ("+rocm7.2.1.lw.git…").
bool is_release_of_pytorch_org(const Scene& scene) {
  static const RE2 two_numbers(R"(\d+\.\d+)");
  return scene.torch_rocm && RE2::FullMatch(*scene.torch_rocm, two_numbers);
}

// The last failure of the system's own runtime. HIP's log says "hsa_init failed" as well, of the
// copy that the program brings along.
const Observation* last_of_rocminfo(const logs::Observations& log) {
  const Observation* last = nullptr;
  for (const Observation* one : log.of("rocminfo-failed")) {
    if (one->text.find("rocdevice.cpp") == std::string::npos) last = one;
  }
  return last;
}

// Whether the PyTorch that counts no device is one for ROCm: its version says so, a person does, or
// HIP's own log is there, which no other build writes.
bool runs_torch_of_rocm(const LogSubject& subject) {
  if (subject.scene.torch_rocm) return true;
  static const RE2 of_rocm(R"((?i)\b(?:py)?torch\b.*\brocm\b)");
  static const RE2 hips_log(R"(^\W*:[1-4]:\w+\.cpp\s*:)");
  const facts::Text& framework = subject.scene.framework;
  if (framework && RE2::PartialMatch(*framework, of_rocm)) return true;
  const auto lost = subject.log.of("no-gpu-seen");
  return std::any_of(lost.begin(), lost.end(),
                     [](const Observation* one) { return RE2::PartialMatch(one->text, hips_log); });
}

}  // namespace

std::optional<Hypothesis> find_runtime_for_wsl(const LogSubject& subject) {
  const logs::Observations& log = subject.log;
  if (platform_of(subject).platform != Platform::wsl) return std::nullopt;
  const Observation* agent = log.last("agent-name");
  // What the system's runtime saw before an update says nothing about the one that fails now.
  const Observation* refused = last_of_rocminfo(log);
  if (agent != nullptr && refused != nullptr && is_before(*agent, *refused)) agent = nullptr;
  const Observation* lost = torch_sees_none(subject);
  if (lost == nullptr) lost = log.first("no-gpu-seen");
  const Observation* told = refused == nullptr ? log.first("rocminfo-said-to-work") : nullptr;
  if (lost == nullptr || !runs_torch_of_rocm(subject)) return std::nullopt;
  // Where no agent is shown, an index that has no wheels for WSL still tells.
  const Observation* index = log.first("torch-wheel-index");
  const bool plain_wheel = index != nullptr && refused == nullptr &&
                           index->text.find("download.pytorch.org") != std::string::npos;
  const Observation* shown = agent != nullptr ? agent : told;
  if (shown == nullptr && plain_wheel) shown = index;
  const bool named_plain = refused == nullptr && is_release_of_pytorch_org(subject.scene);
  if (shown == nullptr && !named_plain) return std::nullopt;
  Hypothesis mismatch;
  mismatch.evidence.push_back(show(subject, *lost, logs::describe(*lost)));
  mismatch.confidence = agent != nullptr ? 0.82 : 0.6;
  mismatch.title = "The ROCm runtime in PyTorch's package does not support WSL";
  mismatch.reasons.emplace_back(
      "PyTorch loads its own copy of libhsa-runtime64.so, which looks for /dev/kfd. The system's "
      "runtime, which rocminfo uses, supports /dev/dxg.");
  mismatch.evidence.push_back(
      shown == nullptr
          ? show(subject.scene.torch_rocm, "a wheel from pytorch.org, which is not built for WSL")
          : show(subject, *shown,
                 shown == agent  ? "the system's runtime sees the GPU"
                 : shown == told ? "the system's runtime is said to see the GPU"
                                 : "a wheel that is not built for WSL"));
  mismatch.evidence.push_back(platform_of(subject).evidence);
  mismatch.fix = {sentence("Install the PyTorch wheels that AMD builds for WSL (from "
                           "repo.radeon.com, rocm-rel-7.2.1 or later)."),
                  sentence("Or move torch/lib/libhsa-runtime64.so away, so that the system's copy "
                           "is loaded. Both must be from the same ROCm release."),
                  sentence_with("Before ROCm 7.13, also set this variable",
                                "export HSA_ENABLE_DXG_DETECTION=1")};
  mismatch.alternatives = {
      {"host-without-kfd", 0.15, "echo $HSA_ENABLE_DXG_DETECTION, in the shell of the job"}};
  return mismatch;
}

bool is_before_wsl(const LogSubject& subject) {
  const facts::Text& rocm = subject.scene.rocm;
  const auto release = rocm ? facts::parse_kernel_version(*rocm) : std::nullopt;
  return release && facts::in_range(*release, {"0", "6.1"});
}

}  // namespace headroom::findings
