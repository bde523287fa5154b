// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/backends_listed.h"

#include <re2/re2.h>

#include <algorithm>

#include "base/text.h"

namespace headroom::findings {
namespace {

using logs::Observation;

// The lines that a command printed: what follows, up to the next thing that somebody typed.
std::string printed_by(const Observation& command) {
  std::string printed;
  for (const std::string& line : command.output) {
    const std::string_view shown = trim(line);
    const bool typed = shown.starts_with("$") || shown.starts_with("#") || shown.starts_with(">>>");
    if (typed) break;
    printed += line + '\n';
  }
  return printed;
}

bool knows_amd_gpu(const LogSubject& subject) {
  const auto& gpus = subject.scene.gpus;
  return std::any_of(gpus.begin(), gpus.end(),
                     [](const SceneGpu& one) { return !one.gfx.empty(); });
}

// A folder with back-ends of ggml and none of them for AMD.
bool lists_none_for_amd(const Observation& listing) {
  static const RE2 backend(
      R"(\bcuda_(?:v\d+|jetpack\d)|libggml-(?:cuda|cpu|vulkan)|ggml-(?:cuda|cpu|vulkan)\S*\.dll)");
  static const RE2 of_amd(R"((?i)rocm|hip)");
  static const RE2 asks_for_amd(R"((?i)/rocm\w*|-hip\b)");
  const std::string printed = printed_by(listing);
  if (RE2::PartialMatch(listing.text, asks_for_amd)) {
    return printed.find("No such file or directory") != std::string::npos ||
           listing.text.find("No such file or directory") != std::string::npos;
  }
  return RE2::PartialMatch(printed, backend) && !RE2::PartialMatch(printed, of_amd);
}

// llama.cpp's own answer, through its Python binding or its list of devices.
bool offers_no_device(const Observation& asked) {
  static const RE2 device(R"((?m)^\s*(?:ROCm|HIP|Vulkan|CUDA)\d)");
  const std::string printed = printed_by(asked);
  if (asked.text.find("llama_supports_gpu_offload") != std::string::npos) {
    return trim(printed) == "False";
  }
  // A build that tries to start ROCm has it.
  const bool has_rocm = printed.find("ggml_cuda_init:") != std::string::npos;
  return printed.find("Available devices:") != std::string::npos && !has_rocm &&
         !RE2::PartialMatch(printed, device);
}

// ONNX Runtime's list of its execution providers.
bool provides_cpu_alone(const Observation& asked) {
  static const RE2 for_amd(R"(ROCM|MIGraphX|Dml|WebGpu|VitisAI)");
  const std::string printed = printed_by(asked) + asked.text;
  return printed.find("CPUExecutionProvider") != std::string::npos &&
         !RE2::PartialMatch(printed, for_amd);
}

}  // namespace

const Observation* chose_cpu(const LogSubject& subject) {
  const Observation* chosen = subject.log.last("ollama-cpu-only");
  if (chosen == nullptr || !knows_amd_gpu(subject)) return nullptr;
  const bool took_one =
      subject.log.any_of({"ollama-device", "ollama-memory", "ollama-gpu-accepted"});
  return took_one ? nullptr : chosen;
}

BackendSign find_no_amd_backend(const LogSubject& subject) {
  const logs::Observations& log = subject.log;
  const Observation* on_cpu = chose_cpu(subject);
  const bool is_sought = on_cpu != nullptr || log.any_of({"no-gpu-seen", "trouble-words"});
  if (!knows_amd_gpu(subject)) return {};
  for (const Observation* one : log.of("program-backends-listed")) {
    if (is_sought && lists_none_for_amd(*one)) return {one, on_cpu != nullptr ? 0.78 : 0.6};
  }
  for (const Observation* one : log.of("offload-asked")) {
    if (offers_no_device(*one)) return {one, 0.75};
  }
  for (const Observation* one : log.of("providers-asked")) {
    if (provides_cpu_alone(*one)) return {one, 0.7};
  }
  // ROCm's own tools list the GPU in the same session, and ollama says nothing of having tried it.
  const bool tried = log.any_of({"ollama-device-left-out", "device-dropped-for-target",
                                 "ollama-target-refused", "ollama-target-listed", "no-gpu-seen",
                                 "runtime-part-missing", "container-command", "container-told"});
  if (on_cpu != nullptr && log.seen("agent-name") && !tried) return {on_cpu, confidence::possible};
  return {};
}

}  // namespace headroom::findings
