// SPDX-License-Identifier: Apache-2.0
// backend-unavailable: the job asks for a communication or compute back-end that this build does
// not have. If another vendor's machine lacks only that vendor's back-end, this is no answer.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "findings/causes/backends_listed.h"
#include "findings/causes/causes.h"
#include "findings/causes/program_flow.h"
#include "findings/causes/raised_in.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using logs::Observation;

struct Sign {
  const Observation* line = nullptr;
  double confidence = 0;
};

// ollama found an AMD GPU, and this build of it has nothing that could use one.
const Observation* runners_without_rocm(const logs::Observations& log) {
  const Observation* runners = log.last("ollama-runners");
  if (runners == nullptr || !log.seen("ollama-gpu-accepted")) return nullptr;
  return runners->value("runners").find("rocm") == std::string_view::npos ? runners : nullptr;
}

// llama.cpp names a missing back-end as one possible reason whenever it has no device. A build that
// tried to start ROCm has it.
bool is_a_guess(const logs::Observations& log, const Observation& line) {
  if (line.text.find("one possible reason") == std::string::npos) return false;
  const auto lost = log.of("no-gpu-seen");
  return std::any_of(lost.begin(), lost.end(), [](const Observation* one) {
    return one->text.find("ggml_cuda_init") != std::string::npos ||
           one->text.find("ggml_init_cublas") != std::string::npos;
  });
}

Sign strongest(const LogSubject& subject) {
  const logs::Observations& log = subject.log;
  if (const auto* line = log.first("no-comm-backend")) {
    // "No backend type associated with device type cpu" often means a tensor that was left on the
    // CPU.
    return {line, line->value("kind").empty() ? 0.85 : 0.65};
  }
  if (const auto* line = log.first("distributed-missing")) {
    // A library that imports it without asking is at fault; the job itself may not need it.
    return {line, imports_undemanded(log, *line) != nullptr ? 0.3 : 0.85};
  }
  if (const auto* line = log.first("xla-backend-missing")) return {line, 0.75};
  for (const Observation* line : log.of("not-compiled-with")) {
    if (!is_a_guess(log, *line)) return {line, 0.75};
  }
  if (const auto* line = runners_without_rocm(log)) return {line, 0.75};
  if (const auto* line = log.first("provider-missing")) {
    // ONNX Runtime falls back to the processor, which a program may do on purpose; not one that
    // asks for AMD's provider by name.
    const bool by_name = line->value("asked") == "ROCMExecutionProvider" ||
                         line->value("asked") == "MIGraphXExecutionProvider";
    return {line, !goes_on_after(log, *line) ? 0.85 : by_name ? 0.75 : 0.4};
  }
  if (const auto* line = log.first("operator-without-backend")) return {line, confidence::possible};
  const BackendSign listed = find_no_amd_backend(subject);
  return {listed.line, listed.confidence};
}

// Whether the program's files or its own lists show it, and not a message of a failure.
bool is_of_files(const Observation& line) {
  return line.id() == "program-backends-listed" || line.id() == "offload-asked" ||
         line.id() == "providers-asked" || line.id() == "ollama-cpu-only";
}

std::string asked_of(const Observation& line) {
  if (line.id() == "distributed-missing") return "torch.distributed";
  if (line.id() == "ollama-runners") return "runner for ROCm";
  if (is_of_files(line)) return "back-end for AMD GPUs";
  if (!line.value("gpu_support").empty()) return "GPU support";
  for (const std::string_view name :
       {"asked", "name", "unknown", "kind", "support", "failed", "created", "also"}) {
    if (!line.value(name).empty()) return std::string(line.value(name));
  }
  return {};
}

// Whether only machines of this other vendor have the back-end.
bool is_of_foreign_vendor(const std::string& asked, Vendor vendor) {
  const std::string word = to_lower(asked);
  const auto has = [&](std::string_view part) { return word.find(part) != std::string::npos; };
  if (vendor == Vendor::nvidia) {
    return has("nccl") || has("cuda") || has("tensorrt") || has("cudnn") || has("cublas");
  }
  if (vendor == Vendor::intel) {
    // CUDA's is for a card that is not there, and its absence no fault of an AMD GPU's.
    return has("xpu") || has("openvino") || has("xccl") || word == "ccl" || has("sycl") ||
           has("cuda") || has("tensorrt");
  }
  // A Mac never has CUDA: a program that asks for it was written for another machine.
  return vendor == Vendor::apple && (has("mps") || has("coreml") || has("metal") || has("cuda"));
}

void advise(const Observation& line, const std::string& asked, Hypothesis& missing) {
  if (line.id() == "provider-missing") {
    missing.fix = {sentence("See what this build has: python -c 'import onnxruntime as o; "
                            "print(o.get_available_providers())'"),
                   command("pip uninstall onnxruntime onnxruntime-gpu"),
                   sentence("Install AMD's wheel, onnxruntime-rocm or onnxruntime-migraphx, from "
                            "https://repo.radeon.com/rocm/manylinux/"),
                   sentence("From ROCm 7.1 on there is no ROCMExecutionProvider. Use "
                            "MIGraphXExecutionProvider")};
    return;
  }
  if (line.id() == "distributed-missing") {
    missing.fix = {sentence("See what this build has: python -c 'import torch.distributed as d; "
                            "print(d.is_available())'"),
                   sentence("A job on one GPU does not need it. Leave out init_process_group, FSDP "
                            "and DistributedDataParallel, or use a release of the library that "
                            "asks is_available() first."),
                   sentence("For several GPUs use PyTorch for ROCm on Linux. The builds for "
                            "Windows have no torch.distributed.")};
    return;
  }
  if (line.id() == "no-comm-backend") {
    missing.fix = {
        sentence("see what this build has: python -c 'import torch.distributed as d; "
                 "print(d.is_nccl_available(), d.is_gloo_available(), d.is_mpi_available())'"),
        sentence("On AMD GPUs \"nccl\" means RCCL. Install PyTorch for ROCm on Linux, from "
                 "https://download.pytorch.org/whl/rocm6.4"),
        sentence("Without GPUs, and on Windows, use init_process_group(backend=\"gloo\").")};
    if (to_lower(asked) == "hccl") {
      missing.fix.insert(
          missing.fix.begin(),
          sentence("HCCL is for Huawei's NPUs and Intel's Gaudi. Use \"nccl\" here."));
    }
    return;
  }
  if (line.id() == "ollama-cpu-only" || line.text.find("ollama") != std::string::npos) {
    missing.fix = {
        sentence_with("See whether its files for ROCm are there",
                      "ls /usr/lib/ollama /usr/local/lib/ollama"),
        sentence("If no folder rocm is there, install ollama's package for ROCm: ollama-rocm "
                 "(Arch), ollama-linux-amd64-rocm.tar.zst beside the other archive, or the image "
                 "ollama/ollama:rocm."),
        sentence("Or use Vulkan: OLLAMA_VULKAN=1 ollama serve")};
    return;
  }
  missing.fix = {
      sentence(fmt::format("Install or build the program with {}, or use a back-end that it has.",
                           asked.empty() ? "the back-end" : asked))};
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  const Sign sign = strongest(subject);
  if (sign.line == nullptr) return std::nullopt;
  const std::string asked = asked_of(*sign.line);
  const facts::Fact<Vendor>& vendor = subject.scene.vendor;
  if (vendor && is_of_foreign_vendor(asked, *vendor)) return std::nullopt;
  Hypothesis missing;
  missing.confidence = sign.confidence;
  missing.title = asked.empty() ? "This build does not have the back-end that the job needs"
                                : fmt::format("This build has no {}, which the job needs", asked);
  missing.reasons.emplace_back(
      sign.line->id() == "ollama-cpu-only"
          ? "ROCm lists the GPU, and the server takes the CPU without saying why. That is what it "
            "does without its files for ROCm."
      : sign.line->id() == "ollama-runners" || is_of_files(*sign.line)
          ? "The program lists its back-ends, and none of them is for AMD GPUs."
          : "The program itself says that it was built without it.");
  missing.evidence.push_back(show(subject, *sign.line, logs::describe(*sign.line)));
  advise(*sign.line, asked, missing);
  missing.alternatives.push_back(
      {"wrong-wheel", 0.3,
       "python -c 'import torch; print(torch.__version__, torch.version.hip)'"});
  return missing;
}

}  // namespace

constinit const CauseRule backend_unavailable_cause = {
    .id = "backend-unavailable",
    .meaning = "The job needs a back-end that this build does not have.",
    .why =
        "The back-ends of a build are chosen when it is compiled. NCCL (RCCL) is only in builds "
        "for GPUs on Linux. An execution provider is only in its own onnxruntime package.",
    .fix = "Install a build that has it, or use a back-end that this build has.",
    .explains = "app-bug missing-library framework-bug collective-hang gpu-not-used",
    .any_vendor = true,
    .find = find,
};

}  // namespace headroom::findings
