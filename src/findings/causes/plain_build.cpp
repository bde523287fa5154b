// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/plain_build.h"

#include <re2/re2.h>

#include <algorithm>

namespace headroom::findings {
namespace {

using logs::Observation;

// ollama's image for CUDA and the CPU, with a GPU that nothing in it looks for.
PlainBuild find_plain_ollama(const LogSubject& subject) {
  const logs::Observations& log = subject.log;
  const Observation* image = log.first("ollama-image-plain");
  const bool unseen =
      log.any_of({"no-gpu-seen", "ollama-on-cpu", "ollama-cpu-only", "gpu-said-unused"});
  if (image == nullptr || !unseen || log.any_of({"ollama-device", "ollama-memory"})) return {};
  // Newer ones carry Vulkan's back-end too, and releases before 0.6 a part of ROCm.
  return {image, 0.62};
}

// JAX's and TensorFlow's packages on PyPI know CUDA alone; those for ROCm have other names.
PlainBuild find_plain_framework(const logs::Observations& log) {
  const Observation* on_cpu = log.first("jax-on-cpu");
  if (on_cpu == nullptr || log.any_of({"kfd-absent", "kfd-refused", "module-not-loaded"}))
    return {};
  static const RE2 for_rocm(
      R"((?i)jax[-_]rocm|rocm\d*[-_](?:plugin|pjrt)|tensorflow[-_]rocm|\+rocm)");
  const auto& all = log.all();
  const bool has_rocm = std::any_of(all.begin(), all.end(), [](const Observation& one) {
    return RE2::PartialMatch(one.text, for_rocm);
  });
  if (has_rocm) return {};
  return {on_cpu, log.seen("plain-package-installed") ? 0.75 : 0.45};
}

}  // namespace

PlainBuild find_plain_build(const LogSubject& subject) {
  const PlainBuild image = find_plain_ollama(subject);
  const PlainBuild framework = find_plain_framework(subject.log);
  return image.confidence >= framework.confidence ? image : framework;
}

bool is_plain_build(const Observation& sign) {
  return sign.id() == "ollama-image-plain" || sign.id() == "jax-on-cpu";
}

void advise_other_build(const Observation& sign, Hypothesis& wrong) {
  if (sign.id() == "ollama-image-plain") {
    wrong.title = "ollama's image without ROCm runs on a machine with an AMD GPU";
    wrong.fix = {
        sentence("Start ollama/ollama:rocm instead, with --device /dev/kfd --device /dev/dri.")};
    return;
  }
  wrong.title = "A build without ROCm runs on a machine with an AMD GPU";
  wrong.fix = {
      sentence("JAX for ROCm is jax with jax-rocm7-pjrt and jax-rocm7-plugin (or rocm6). "
               "TensorFlow for ROCm "
               "is tensorflow-rocm, from repo.radeon.com/rocm/manylinux. Or start rocm/jax or "
               "rocm/tensorflow.")};
}

}  // namespace headroom::findings
