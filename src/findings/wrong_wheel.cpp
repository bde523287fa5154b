// SPDX-License-Identifier: Apache-2.0
// wrong-wheel: the torch that jobs here would import was built for CUDA, or for no GPU at all,
// although an AMD GPU could be used.
#include <fmt/format.h>

#include <algorithm>

#include "findings/job_gpus.h"
#include "findings/memory_use.h"

namespace headroom::findings {
namespace {

constexpr std::uint64_t nvidia = 0x10de;

std::vector<Finding> find(const Subject& subject) {
  const facts::PythonStack& python = subject.facts.python;
  const auto gpus = job_gpus(subject.facts);
  const bool other_build = !python.torch_folder.empty() && python.torch.kind &&
                           *python.torch.kind != facts::TorchKind::rocm;
  if (gpus.empty() || !other_build) return {};
  const bool cuda = *python.torch.kind == facts::TorchKind::cuda;
  const auto& others = subject.facts.other_gpus;
  const bool serves_nvidia =
      cuda && std::any_of(others.begin(), others.end(), [](const facts::OtherGpu& gpu) {
        return gpu.vendor && *gpu.vendor == nvidia;
      });
  Finding finding;
  finding.id = "wrong-wheel";
  finding.title = fmt::format("the installed {} is built for {}, so it does not use {}",
                              torch_name(python), cuda ? "CUDA" : "the CPU", title_of(*gpus[0]));
  finding.reasons = {
      "Unless told otherwise, pip installs PyTorch from PyPI, which has the CUDA build. A package "
      "that pins another torch can also replace the ROCm build later."};
  finding.evidence = {show(python.torch.kind, cuda ? "a build for CUDA " + *python.torch.cuda
                                                   : "it contains neither HIP nor CUDA")};
  finding.fix = steps_to_install_torch(subject, *gpus[0]);
  finding.next = NextCommand::stack();
  if (serves_nvidia) return {finding};  // It may be meant for the other GPU, so it is not blamed.
  finding.severity = Severity::error;
  finding.claim = Claim{Verdict::broken, python.named ? 0.95 : 0.8, {}};
  return {finding};
}

}  // namespace

constinit const Rule wrong_wheel_rule = {
    .id = "wrong-wheel",
    .meaning =
        "The installed PyTorch is a build for CUDA or for the CPU, on a machine with an AMD GPU.",
    .why =
        "torch.cuda.is_available() is False and everything runs on the CPU, or the program ends "
        "with \"Found no NVIDIA driver\".",
    .fix = "Remove it, and install the ROCm build from its own index.",
    .find = find,
};

}  // namespace headroom::findings
