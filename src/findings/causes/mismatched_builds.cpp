// SPDX-License-Identifier: Apache-2.0
// Programs, extensions and compilers that say themselves for which release they were built.
#include <fmt/format.h>

#include "facts/kernel_text.h"
#include "findings/causes/bitsandbytes.h"
#include "findings/causes/version_mismatch.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using logs::Observation;

// torchvision checks at its import that it and PyTorch are of one build.
std::optional<Hypothesis> find_torchvision(const LogSubject& subject) {
  const Observation* seen = subject.log.first("torchvision-apart");
  if (seen == nullptr) return std::nullopt;
  Hypothesis mismatch = make_mismatch(subject, *seen);
  mismatch.confidence = 0.65;
  mismatch.title = "PyTorch and torchvision are from different builds";
  mismatch.reasons.emplace_back(
      "torchvision's operators are compiled for one PyTorch, and are not registered with another. "
      "Often one of the two is a build for ROCm and the other comes from PyPI.");
  mismatch.fix = {
      command("pip list | grep -E '^torch'", "(the parts after the plus must be the same)"),
      command("pip install --force-reinstall torch torchvision torchaudio --index-url URL",
              "(all three from the ROCm index given on pytorch.org)")};
  mismatch.alternatives = {{"wrong-wheel", 0.35, "pip list | grep -E '^torch'"}};
  return mismatch;
}

// The device libraries were written by a newer LLVM than the compiler that reads them.
std::optional<Hypothesis> find_bitcode(const LogSubject& subject) {
  const Observation* seen = subject.log.first("bitcode-too-new");
  if (seen == nullptr) return std::nullopt;
  Hypothesis mismatch = make_mismatch(subject, *seen);
  mismatch.confidence = 0.75;
  mismatch.title = "The compiler and ROCm's device libraries are from different releases";
  mismatch.reasons.emplace_back(
      "The device libraries are bitcode, which only the LLVM of the same release reads reliably. "
      "The compiler in use comes from the distribution or from another ROCm.");
  mismatch.fix.insert(
      mismatch.fix.begin(),
      sentence_with(
          "See which compiler runs, and which libraries it uses",
          "which hipcc clang; hipconfig --full; env | grep -E 'ROCM_PATH|HIP_PATH|DEVICE_LIB'"));
  return mismatch;
}

// bitsandbytes was built with the system's ROCm, and asks for the library of the one that PyTorch
// was built for.
std::optional<Hypothesis> find_bitsandbytes(const LogSubject& subject, const Observation& seen) {
  const std::string asked = library_asked_of(seen);
  const Observation* built = built_for_another(subject.log, asked);
  if (built == nullptr || is_misread(subject, *built, asked)) return std::nullopt;
  Hypothesis mismatch = make_mismatch(subject, seen);
  mismatch.confidence = 0.88;
  mismatch.title = fmt::format("bitsandbytes was built for {}, and PyTorch asks for {}",
                               built->value("built"), asked);
  mismatch.reasons.emplace_back(
      "bitsandbytes names its library after the ROCm that it was built with, and looks for the one "
      "that PyTorch was built for.");
  mismatch.evidence.push_back(show(subject, *built, "the library that is there"));
  return mismatch;
}

// An extension is built by a compiler of an older release than the one that its PyTorch is for, and
// that compiler does not know an option of the build.
std::optional<Hypothesis> find_older_compiler(const LogSubject& subject) {
  const Observation* unknown = subject.log.first("compiler-option-unknown");
  const Observation* compiler = subject.log.first("compiler-of-release");
  const facts::Text& wanted = subject.scene.torch_rocm;
  if (unknown == nullptr || compiler == nullptr || !wanted) return std::nullopt;
  const auto used = facts::parse_kernel_version(compiler->value("compiler_rocm"));
  const auto built_for = facts::parse_kernel_version(*wanted);
  if (!used || !built_for || !(*used < *built_for)) return std::nullopt;
  Hypothesis mixed;
  mixed.confidence = 0.8;
  mixed.title = fmt::format("The compiler is from ROCm {}, but PyTorch is built for ROCm {}",
                            compiler->value("compiler_rocm"), *wanted);
  mixed.reasons.emplace_back(
      "Build files of the newer release use options that this compiler does not have.");
  mixed.evidence = {show(subject, *unknown, logs::describe(*unknown)),
                    show(subject, *compiler, logs::describe(*compiler)),
                    show(wanted, "what PyTorch is built for")};
  mixed.fix = {
      sentence(fmt::format("Build with that release's own compiler: set ROCM_PATH and ROCM_HOME to "
                           "ROCm {}, and put its bin folder first in PATH.",
                           *wanted))};
  return mixed;
}

// AMD's packages need each other in one release, and apt prefers the distribution's of another one.
std::optional<Hypothesis> find_mixed_sources(const LogSubject& subject) {
  const Observation* unmet = subject.log.first("apt-unmet-rocm");
  if (unmet == nullptr || unmet->value("there") == unmet->value("wanted")) return std::nullopt;
  Hypothesis mixed = make_mismatch(subject, *unmet);
  mixed.confidence = 0.82;
  mixed.title = fmt::format("apt takes {} {} from another source than AMD's packages",
                            unmet->value("package"), unmet->value("there"));
  mixed.reasons.emplace_back(
      "The distribution has ROCm packages of the same names. Without a pin apt prefers them, and "
      "AMD's packages do not accept another release of their parts.");
  mixed.fix = {
      command("apt-cache policy rocminfo rocm-device-libs", "(which source each comes from)"),
      command("printf 'Package: *\\nPin: release o=repo.radeon.com\\nPin-Priority: 600\\n' | sudo "
              "tee /etc/apt/preferences.d/rocm-pin-600"),
      sentence("Remove the distribution's packages that were installed already, then install "
               "AMD's again.")};
  return mixed;
}

}  // namespace

std::optional<Hypothesis> find_mismatched_build(const LogSubject& subject) {
  std::optional<Hypothesis> best;
  for (const auto* seen : subject.log.of("bitsandbytes-library")) {
    take_surer(find_bitsandbytes(subject, *seen), best);
  }
  take_surer(find_torchvision(subject), best);
  take_surer(find_bitcode(subject), best);
  take_surer(find_older_compiler(subject), best);
  take_surer(find_mixed_sources(subject), best);
  return best;
}

}  // namespace headroom::findings
