// SPDX-License-Identifier: Apache-2.0
#include <re2/re2.h>

#include <algorithm>

#include "base/text.h"
#include "findings/scene_parts.h"

namespace headroom::findings {
namespace {

using facts::Fact;
using logs::Observation;

Fact<Vendor> vendor_of_text(const facts::Text& text) {
  if (!text) return {};
  static const RE2 nvidia(R"((?i)nvidia|geforce|\b[rg]tx ?\d|quadro|tesla [tvpk]\d|\bcuda\b)");
  static const RE2 none(R"((?i)\bnone\b|\bno gpu\b|cpu[ -]only|cpu job)");
  const std::string word = to_lower(*text);
  const auto has = [&](std::string_view part) { return word.find(part) != std::string::npos; };
  const auto is = [&](Vendor vendor) { return Fact<Vendor>(vendor, text.source()); };
  if (RE2::PartialMatch(word, nvidia)) return is(Vendor::nvidia);
  if (RE2::PartialMatch(word, none)) return is(Vendor::none);
  if (has("amd") || has("radeon") || has("instinct")) return is(Vendor::amd);
  if (has("intel")) return is(Vendor::intel);
  if (has("apple")) return is(Vendor::apple);
  return {};
}

// "AMD Ryzen 5 5600G with Radeon Graphics" is the name of a CPU, and "HIP runtime version: N/A" a
// line of a report on any machine.
bool says_nothing_of_the_job(const Observation& seen) {
  static const RE2 idle(
      R"((?i)with radeon|w/ ?radeon|version: n/a|pytorch: n/a|\bcpu\b|model name|not (?:found|detected|loaded)|searching for|not installed)");
  // "Does it support AMD GPUs?" is asked by people with any GPU.
  static const RE2 question(R"((?i)^\W*(?:does|do|is|are|will|can|could|would|has)\b[^.!]*\?\W*$)");
  return RE2::PartialMatch(seen.text, idle) || RE2::PartialMatch(seen.text, question);
}

const Observation* first_that_counts(const logs::Observations& log, std::string_view id) {
  for (const Observation* seen : log.of(id)) {
    if (!says_nothing_of_the_job(*seen)) return seen;
  }
  return nullptr;
}

// Finds a discrete card, or any GPU that one of AMD's programs named.
const SceneGpu* amd_gpu(const Scene& scene) {
  for (const SceneGpu& gpu : scene.gpus) {
    if (!gpu.integrated.value_or(false)) return &gpu;
  }
  return nullptr;
}

// Finds the name of a build for CUDA in the report of a program's own error. Whoever has another
// GPU under such a build is told that none is found, or that a library or a kernel is missing.
const Observation* build_at_work(const logs::Observations& log) {
  const Observation* build = log.first("cuda-build");
  if (build == nullptr || build->text.find("+cu") == std::string::npos) return nullptr;
  if (!log.seen("python-exception") || log.any_of({"availability-asked", "torch-sees-no-gpu"})) {
    return nullptr;
  }
  const auto& all = log.all();
  const bool only_its_own = std::all_of(all.begin(), all.end(), [](const Observation& one) {
    const auto role = one.signature->role;
    return role != knowledge::Role::failure || one.id() == "python-exception";
  });
  return only_its_own ? build : nullptr;
}

}  // namespace

Fact<Vendor> infer_vendor(const Scene& scene, const logs::Observations& log,
                          const facts::Stated& stated) {
  if (scene.vendor) return scene.vendor;
  if (auto said = vendor_of_text(stated.get("vendor"))) return said;
  if (auto named = vendor_of_text(stated.get("gpu"))) return named;
  if (!stated.get("gfx").known()) {
    const Observation* foreign = log.first("nvidia-failure");
    // PyTorch's and llama.cpp's builds for ROCm say "CUDA error" too, where HIP's own words,
    // rocminfo or KFD name AMD's GPU.
    const bool amd_fails = log.any_of({"kernel-image-refused", "kfd-refused", "kfd-absent",
                                       "kfd-node-withheld", "agent-name", "hip-at-work"});
    if (foreign != nullptr && !amd_fails && !scene.torch_rocm) {
      return {Vendor::nvidia, source_of(*foreign)};
    }
  }
  if (const Observation* seen = log.first("amd-words")) return {Vendor::amd, source_of(*seen)};
  for (const auto& [id, vendor] :
       {std::pair("nvidia-words", Vendor::nvidia), std::pair("intel-words", Vendor::intel),
        std::pair("apple-words", Vendor::apple)}) {
    if (const Observation* seen = log.first(id)) return {vendor, source_of(*seen)};
  }
  if (const SceneGpu* gpu = amd_gpu(scene)) return {Vendor::amd, gpu->source};
  if (const Observation* seen = first_that_counts(log, "amd-hints")) {
    return {Vendor::amd, source_of(*seen)};
  }
  if (!scene.gpus.empty()) return {Vendor::amd, scene.gpus.front().source};
  // A bare name may stand for a comparison, so it tells only where nothing speaks of AMD.
  if (const Observation* named = log.first_of({"nvidia-told", "nvidia-runtime"})) {
    return {Vendor::nvidia, source_of(*named)};
  }
  const Observation* worded = log.first("cuda-worded");
  if (worded != nullptr && !log.seen("kernel-image-refused")) {
    return {Vendor::nvidia, source_of(*worded)};
  }
  if (const Observation* build = build_at_work(log)) return {Vendor::nvidia, source_of(*build)};
  return {};
}

}  // namespace headroom::findings
