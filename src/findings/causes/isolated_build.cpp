// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/isolated_build.h"

#include <fmt/format.h>

#include "findings/causes/libraries.h"
#include "logs/describe.h"

namespace headroom::findings {

using logs::Observation;

std::optional<Hypothesis> find_hidden_by_build(const LogSubject& subject, const Observation& seen) {
  const std::string_view module = seen.value("module");
  const Observation* build = subject.log.first("package-build");
  if (build == nullptr || build->log != seen.log || !is_known_module(module)) return std::nullopt;
  Hypothesis missing;
  missing.confidence = 0.8;
  missing.title = fmt::format(
      "A package's build does not see {}: it runs in an environment of its own", module);
  missing.reasons.push_back(
      fmt::format("The setup.py of the package imports {} and does not ask for it. Whether {} is "
                  "installed makes "
                  "no difference to such a build.",
                  module, module));
  missing.evidence = {show(subject, seen, logs::describe(seen)),
                      show(subject, *build, logs::describe(*build))};
  missing.fix = {
      sentence_with("See whether it is installed where the program will run",
                    fmt::format("python -m pip show {}", module)),
      sentence("Build in that environment: pip install --no-build-isolation PACKAGE (uv has the "
               "same option). Its other build requirements, such as wheel, ninja and packaging, "
               "must be installed there first."),
      sentence("Or see whether a ready-made wheel for ROCm exists: the package on PyPI may be for "
               "CUDA alone.")};
  missing.alternatives = {{"app-bug", 0.2, "the package's own guide for ROCm"}};
  return missing;
}

}  // namespace headroom::findings
