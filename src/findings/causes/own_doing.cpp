// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/own_doing.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include "findings/causes/batching.h"
#include "findings/causes/raised_in.h"

namespace headroom::findings {
namespace {

using logs::Observation;
using Sign = FrameworkSign;

// Finds a library that imports at its own start what this build of PyTorch does not have, instead
// of asking torch.distributed.is_available().
Sign imports_what_is_not_there(const logs::Observations& log) {
  const Observation* missing = log.first("distributed-missing");
  const Observation* importer = missing == nullptr ? nullptr : imports_undemanded(log, *missing);
  if (importer == nullptr) return {};
  return {missing, 0.8,
          "A library imports torch.distributed, which this build of PyTorch does not have",
          "The builds for Windows have no torch.distributed, and say so when they are asked. The "
          "library does not ask; another release of it may.",
          importer};
}

// Finds a library that takes the back-end's name for a part of PyTorch. No release has torch.hip or
// torch.rocm: a build for ROCm answers to torch.cuda (pytorch/pytorch: docs/source/notes/hip.rst).
Sign names_part_after_backend(const logs::Observations& log) {
  for (const Observation* missing : log.of("torch-attribute-missing")) {
    const std::string_view name = missing->value("name");
    if (name != "hip" && name != "rocm") continue;
    const CodeOwner owner = raised_in(log, *missing).owner;
    if (owner != CodeOwner::library && owner != CodeOwner::framework) continue;
    return {missing, 0.75, fmt::format("A library asks for torch.{}, which no PyTorch has", name),
            "A PyTorch for ROCm answers to torch.cuda. The library makes the name out of the "
            "back-end's; another release of it may not."};
  }
  return {};
}

// Finds a build script that joins paths to CUDA's folder, which is None in a build for ROCm.
Sign builds_for_cuda(const LogSubject& subject) {
  const logs::Observations& log = subject.log;
  const Observation* used = log.first("cuda-home-used");
  if (used == nullptr || subject.scene.is_foreign()) return {};
  const bool of_rocm = subject.scene.torch_rocm || subject.scene.rocm || log.seen("amd-words");
  constexpr std::uint64_t near = 12;
  for (const Observation* error : log.of("python-exception")) {
    const bool of_none = error->text.find("NoneType") != std::string::npos ||
                         error->text.find("CUDA_HOME") != std::string::npos;
    const bool behind =
        error->log == used->log && error->line >= used->line && error->line - used->line <= near;
    if (!of_none || !behind) continue;
    return {error, of_rocm ? 0.75 : 0.5,
            "A build script asks for CUDA_HOME, which ROCm does not set",
            "A PyTorch for ROCm has ROCM_HOME instead, and CUDA_HOME is None. The package's build "
            "does not know ROCm at this place.",
            used};
  }
  return {};
}

// Finds a program that numbers the processors' nodes along with the GPUs, and then asks for a GPU
// of that number.
Sign counts_processors(const logs::Observations& log) {
  const Observation* counted = log.first("cpu-counted-as-gpu");
  if (counted == nullptr || !log.seen("no-gpu-seen")) return {};
  return {counted, 0.78,
          "The program counts a processor as a GPU, and picks a GPU that is not there",
          "KFD lists each processor as a node of its own, without a target (gfx000). The program "
          "numbers the GPUs with these nodes among them, so its number is one too high."};
}

// Finds a commit that a bisection of the program found. One of the kernel is no framework's.
Sign found_by_bisection(const logs::Observations& log) {
  static const RE2 of_kernel(R"(drm/amd|amdgpu:|amdkfd|\bkernel\b|\blinux\b)");
  const Observation* found = log.first("bisected");
  if (found == nullptr || RE2::PartialMatch(found->text, of_kernel)) return {};
  for (const std::string& line : found->output) {
    if (RE2::PartialMatch(line, of_kernel)) return {};
  }
  const Observation* failure = log.first_with(knowledge::Role::failure);
  return {failure != nullptr ? failure : found, 0.8, "A commit of the program brought it about",
          "A bisection names the commit; the one before it runs on the same machine.",
          failure != nullptr ? found : nullptr};
}

// Finds a program that looks for GPUs where there are none to be listed, although ROCm's own tool
// lists one beside it: WSL has no KFD.
Sign counts_in_vain(const LogSubject& subject) {
  const logs::Observations& log = subject.log;
  const Observation* counts = log.first("kfd-counted-by-program");
  const bool is_listed = log.any_of({"agent-name", "agent-marketing-name"});
  if (counts == nullptr || !is_listed || !log.seen("wsl-words")) return {};
  return {counts, 0.78, "The program counts GPUs in KFD's list, which WSL does not have",
          "rocminfo reaches the GPU through /dev/dxg. The program looks into "
          "/sys/class/kfd, which only Linux's own driver fills."};
}

// Finds a result that changes with how the work is cut up.
Sign depends_on_batching(const logs::Observations& log) {
  const BatchingDifference found = find_difference_by_batching(log);
  if (found.worse == nullptr) return {};
  return {
      found.worse, 0.72,
      fmt::format("The result is wrong with {}, and right with {}", found.worse_option,
                  found.better_option),
      "How many tokens are computed at a time must not change what comes out. Everything else is "
      "the same in both runs.",
      found.better};
}

}  // namespace

FrameworkSign find_own_doing(const LogSubject& subject) {
  const logs::Observations& log = subject.log;
  for (Sign sign : {found_by_bisection(log), imports_what_is_not_there(log),
                    names_part_after_backend(log), counts_processors(log), counts_in_vain(subject),
                    builds_for_cuda(subject), depends_on_batching(log)}) {
    if (sign.line != nullptr) return sign;
  }
  return {};
}

}  // namespace headroom::findings
