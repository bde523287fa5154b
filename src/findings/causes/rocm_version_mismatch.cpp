// SPDX-License-Identifier: Apache-2.0
// rocm-version-mismatch: a program needs a library or a symbol of another ROCm than the installed
// one.
#include <utility>

#include "findings/causes/causes.h"
#include "findings/causes/version_mismatch.h"
#include "findings/causes/wsl_runtime.h"
#include "logs/describe.h"

namespace headroom::findings {

Hypothesis make_mismatch(const LogSubject& subject, const logs::Observation& seen) {
  Hypothesis mismatch;
  mismatch.evidence.push_back(show(subject, seen, logs::describe(seen)));
  mismatch.fix = {sentence_with("See what is installed",
                                "ls -d /opt/rocm*; pip list | grep -iE 'torch|rocm|triton'"),
                  sentence("Use packages for one ROCm release only, all from one index. Rebuild "
                           "extensions against it.")};
  mismatch.alternatives = {
      {"missing-library", 0.2, "ldconfig -p | grep -E 'amdhip|rocblas|MIOpen'"}};
  return mismatch;
}

std::vector<facts::Text> releases_there(const Scene& scene) {
  std::vector<facts::Text> there;
  for (const facts::Text* one : {&scene.rocm, &scene.torch_rocm}) {
    if (*one) there.push_back(*one);
  }
  return there;
}

void take_surer(std::optional<Hypothesis> one, std::optional<Hypothesis>& best) {
  if (one && (!best || one->confidence > best->confidence)) best = std::move(one);
}

namespace {

std::optional<Hypothesis> find(const LogSubject& subject) {
  std::optional<Hypothesis> best;
  take_surer(find_mismatched_library(subject), best);
  take_surer(find_mismatched_symbol(subject), best);
  take_surer(find_runtime_for_wsl(subject), best);
  take_surer(find_mismatched_build(subject), best);
  take_surer(find_bundled_runtime(subject), best);
  take_surer(find_older_dll(subject), best);
  return best;
}

}  // namespace

constinit const CauseRule rocm_version_mismatch_cause = {
    .id = "rocm-version-mismatch",
    .meaning = "A program was built for a different ROCm than the one that is loaded.",
    .why =
        "Libraries change their interfaces between major releases; the number after \".so.\" "
        "stands for the interface. The loader does not find the library, or symbols are missing.",
    .fix = "Use packages for one ROCm release only, and rebuild extensions against it.",
    .explains = "missing-library app-bug framework-bug crash-loop",
    .next = &NextCommand::stack,
    .find = find,
};

}  // namespace headroom::findings
