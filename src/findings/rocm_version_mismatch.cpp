// SPDX-License-Identifier: Apache-2.0
// rocm-version-mismatch: torch was built for one ROCm and another is loaded: by LD_LIBRARY_PATH,
// which comes before what the package brings, or because the package brings none.
#include <fmt/format.h>

#include "base/text.h"
#include "findings/job_gpus.h"

namespace headroom::findings {
namespace {

std::optional<std::uint64_t> major_of(const facts::Text& version) {
  return version ? parse_u64(split(*version, '.').front()) : std::nullopt;
}

Finding make(const facts::PythonStack& python, const facts::Text& loaded, const std::string& how) {
  Finding finding;
  finding.id = "rocm-version-mismatch";
  finding.severity = Severity::warning;
  finding.title = fmt::format("{} is built for ROCm {}, and ROCm {} is loaded", torch_name(python),
                              *python.torch.rocm, *loaded);
  finding.reasons = {how};
  finding.evidence = {show(python.torch.rocm, "built for ROCm " + *python.torch.rocm),
                      show(loaded, "the system's ROCm is " + *loaded)};
  finding.next = NextCommand::check();
  return finding;
}

std::vector<Finding> find(const Subject& subject) {
  const facts::PythonStack& python = subject.facts.python;
  const auto built = major_of(python.torch.rocm);
  if (python.torch_folder.empty() || !built || subject.facts.gpus.empty()) return {};
  for (const facts::SystemRocm& rocm : python.preferred) {
    const auto major = major_of(rocm.version);
    if (!major || *major == *built) continue;
    Finding finding = make(python, rocm.version,
                           "LD_LIBRARY_PATH names " + rocm.folder +
                               ", so its libraries are loaded instead of those in the package.");
    finding.fix = {sentence("Unset LD_LIBRARY_PATH in the shell or service that starts the job.")};
    return {finding};
  }
  const facts::Text& system = subject.facts.machine.rocm;
  const auto major = major_of(system);
  if (!python.torch.own_rocm || *python.torch.own_rocm || !major || *major == *built) return {};
  Finding finding = make(python, system,
                         "This torch has no ROCm libraries of its own, so it loads the system's.");
  finding.fix = {
      sentence(fmt::format("Install ROCm {} on the system, or a torch that is built for ROCm {}.",
                           *python.torch.rocm, *system))};
  return {finding};
}

}  // namespace

constinit const Rule rocm_version_mismatch_rule = {
    .id = "rocm-version-mismatch",
    .meaning = "PyTorch is built for one major version of ROCm, but another one is loaded.",
    .why =
        "The libraries' interfaces differ between major versions. Symbols are missing at import, "
        "code objects are refused, or the program crashes in a library.",
    .fix = "Let the wheel load its own libraries: put no ROCm folder into LD_LIBRARY_PATH.",
    .find = find,
};

}  // namespace headroom::findings
