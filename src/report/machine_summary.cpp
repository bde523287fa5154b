// SPDX-License-Identifier: Apache-2.0
#include "report/machine_summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "findings/job_gpus.h"
#include "report/style.h"

namespace headroom::report {
namespace {

using findings::Diagnosis;
using findings::Severity;
using findings::Verdict;

std::string list_others(const facts::Facts& facts) {
  std::vector<std::string> names;
  for (const facts::OtherGpu& gpu : facts.other_gpus) names.push_back(printable(gpu.name));
  return join(names, ", ");
}

// What a job needs besides the GPU: " (with AMD's wheels; PyTorch's own do not include it)".
std::string condition_of(const facts::Facts& facts, const Diagnosis& diagnosis, std::size_t index) {
  const bool assessed =
      index < diagnosis.suitability.size() && diagnosis.suitability[index].has_value();
  const auto installed = findings::torch_carries(facts, facts.gpus[index]);
  if (!assessed || (installed && *installed)) return "";
  const findings::Suitability& one = *diagnosis.suitability[index];
  switch (one.route) {
    case findings::StackRoute::community:
      return " (with AMD's wheels; PyTorch's own do not include it)";
    case findings::StackRoute::override:
      return " (with HSA_OVERRIDE_GFX_VERSION=" + one.override->value + ")";
    default:
      return "";
  }
}

// "2 x AMD Instinct MI300X can use 191.98 GiB each": of the GPUs that compute can reach.
std::string list_capacities(const facts::Facts& facts, const Diagnosis& diagnosis) {
  struct Part {
    std::string says;
    std::string condition;
    int count = 0;
  };
  std::vector<Part> parts;
  const bool any_kfd = std::any_of(facts.gpus.begin(), facts.gpus.end(),
                                   [](const facts::Gpu& gpu) { return gpu.kfd_id.known(); });
  for (std::size_t i = 0; i < facts.gpus.size(); ++i) {
    const facts::Gpu& gpu = facts.gpus[i];
    const facts::Rung* binding = gpu.ladder.binding();
    if (binding == nullptr || (any_kfd && !gpu.kfd_id)) continue;
    Part part{fmt::format("{} can use {}", printable(gpu.name), to_string(*binding->limit)),
              condition_of(facts, diagnosis, i)};
    if (parts.empty() || parts.back().says != part.says) parts.push_back(std::move(part));
    ++parts.back().count;
  }
  std::vector<std::string> sentences;
  for (const Part& part : parts) {
    sentences.push_back(
        (part.count == 1 ? part.says : fmt::format("{} x {} each", part.count, part.says)) +
        part.condition);
  }
  return sentences.empty() ? "no problem was found" : join(sentences, "; ");
}

std::string unknown_summary(const facts::Facts& facts) {
  if (facts.wsl.is_wsl())
    return "WSL: headroom could not check the whole way to the GPU from inside";
  if (facts.gpus.empty()) return "headroom could not see whether there is a GPU";
  const bool any_limit = std::any_of(facts.gpus.begin(), facts.gpus.end(), [](const auto& gpu) {
    return gpu.ladder.binding() != nullptr;
  });
  return any_limit ? "the facts that it takes could not be read"
                   : "the GPU's memory could not be read";
}

}  // namespace

std::string machine_summary(const facts::Facts& facts, const Diagnosis& diagnosis) {
  if (diagnosis.cause) return printable(diagnosis.cause->title);
  switch (diagnosis.verdict) {
    case Verdict::no_gpu:
      return facts.other_gpus.empty()
                 ? "no GPU here; jobs run on the CPU"
                 : "no AMD GPU here (" + list_others(facts) + "); headroom supports AMD GPUs only";
    case Verdict::unknown:
      return unknown_summary(facts);
    default:
      break;
  }
  if (facts.wsl.is_wsl() && facts.gpus.empty()) {
    return "WSL: everything that jobs need to reach the GPU is there";
  }
  return list_capacities(facts, diagnosis);
}

std::string also_needed(const Diagnosis& diagnosis) {
  if (!diagnosis.cause) return "";
  for (const findings::Finding& finding : diagnosis.findings) {
    if (!finding.joins_steps || finding.id == diagnosis.cause->id) continue;
    if (finding.id == "known-bad-kernel") return "; this kernel also lacks what the GPU needs";
    if (finding.id == "firmware-bad") return "; its firmware is known to be bad, too";
  }
  return "";
}

std::string count_of_warnings(const Diagnosis& diagnosis) {
  const auto count = std::count_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                                   [&diagnosis](const findings::Finding& finding) {
                                     return finding.severity != Severity::info &&
                                            !(diagnosis.cause && finding.id == diagnosis.cause->id);
                                   });
  return count == 0 ? ""
                    : " " + keep_whole(fmt::format("({} warning{})", count, count == 1 ? "" : "s"));
}

}  // namespace headroom::report
