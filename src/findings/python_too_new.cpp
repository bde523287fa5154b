// SPDX-License-Identifier: Apache-2.0
// python-version-unsupported: this GPU needs an older stack, and the interpreter is newer than any
// of its wheels.
#include <fmt/format.h>

#include "base/text.h"
#include "findings/job_gpus.h"
#include "findings/memory_use.h"

namespace headroom::findings {
namespace {

// Returns 12 for "3.12" and for "3.12.3".
std::optional<std::uint64_t> minor_of(std::string_view version) {
  const auto parts = split(trim(version), '.');
  if (parts.size() < 2 || parts[0] != "3") return std::nullopt;
  return parse_u64(parts[1]);
}

// Returns the end of "3.8 to 3.12".
std::optional<std::uint64_t> newest_of(const std::string& range) {
  const std::size_t to = range.find(" to ");
  return to == std::string::npos ? std::nullopt : minor_of(std::string_view(range).substr(to + 4));
}

std::vector<Finding> find(const Subject& subject) {
  const facts::PythonStack& python = subject.facts.python;
  const auto minor = python.version ? minor_of(*python.version) : std::nullopt;
  if (!minor) return {};
  std::vector<Finding> findings;
  for (const facts::Gpu* gpu : job_gpus(subject.facts)) {
    const auto* stack = gpu->gfx ? subject.tables.stack(*gpu->gfx) : nullptr;
    const auto newest = stack != nullptr ? newest_of(stack->python) : std::nullopt;
    if (!newest || *minor <= *newest || torch_carries(subject.facts, *gpu) == true) continue;
    Finding finding;
    finding.id = "python-version-unsupported";
    finding.gpu = gpu->pci;
    finding.title =
        fmt::format("Python {} is too new for the wheels that include {}: they exist for {}",
                    *python.version, title_of(*gpu), stack->python);
    finding.evidence = {show(python.version, "the interpreter's version"),
                        show(gpu->gfx, "the target is " + *gpu->gfx)};
    finding.fix = {sentence(fmt::format(
        "Make an environment with Python 3.{}: uv venv --python 3.{}", *newest, *newest))};
    finding.next = NextCommand::stack();
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

constinit const Rule python_too_new_rule = {
    .id = "python-version-unsupported",
    .meaning = "There is no wheel with this GPU's target for so new a Python.",
    .why =
        "pip says that it finds no matching distribution, or installs a newer torch without the "
        "target.",
    .fix = "Make a virtual environment with a Python that the wheels exist for.",
    .find = find,
};

}  // namespace headroom::findings
