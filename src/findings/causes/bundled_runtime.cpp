// SPDX-License-Identifier: Apache-2.0
// A program brings its own copy of ROCm's runtime, and that copy fails: where the system's copy
// works, the two do not fit; where an older build of the program did, its ROCm was exchanged.
#include <fmt/format.h>
#include <re2/re2.h>

#include "base/text.h"
#include "findings/causes/crash_signs.h"
#include "findings/causes/version_mismatch.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using logs::Observation;

// Whether somebody tells that it works once the system's libraries come first.
const Observation* works_with_the_systems(const logs::Observations& log) {
  for (const Observation* one : log.of("system-runtime-first")) {
    static const RE2 works(
        R"((?i)\b(?:GPU|device|card)s? (?:is |was |are )?(?:detected|found|seen|visible)|\bworks?\b|\bworked\b|\bfix(?:es|ed)\b|\boffloaded\b|\bstarts?\b|\bloads\b|\b\d+(?:\.\d+)? ?tok)");
    static const RE2 not_so(R"((?i)\b(?:not|no|same|still|neither)\b|n't\b)");
    if (RE2::PartialMatch(one->text, works) && !RE2::PartialMatch(one->text, not_so)) return one;
  }
  return nullptr;
}

const Observation* failure_at_start(const logs::Observations& log) {
  return log.first_of({"no-gpu-seen", "rocminfo-failed", "segfault", "signal-exit", "aborted",
                       "rocm-crash-frame", "kernel-image-refused"});
}

// ollama's own HIP is of an older ROCm than the driver's, and is refused what takes no memory.
std::optional<Hypothesis> find_other_hip(const LogSubject& subject) {
  const Observation* own = subject.log.first("ollama-runtime");
  const Observation* refused = subject.log.first("stream-refused");
  const facts::Text& rocm = subject.scene.rocm;
  if (own == nullptr || refused == nullptr || !rocm) return std::nullopt;
  const auto major = parse_u64(own->value("major"));
  const auto installed = parse_u64(std::string_view(*rocm).substr(0, (*rocm).find('.')));
  if (!major || !installed || *major >= *installed) return std::nullopt;
  Hypothesis mismatch = make_mismatch(subject, *refused);
  mismatch.confidence = confidence::possible;
  mismatch.title =
      fmt::format("ollama brings ROCm {} along, and the driver is ROCm {}'s", *major, *installed);
  mismatch.reasons.emplace_back(
      "Streams and events take hardly any memory. That the runtime calls it a lack of memory hides "
      "what the driver refused.");
  mismatch.evidence.push_back(show(subject, *own, "the program's own runtime"));
  mismatch.fix = {
      sentence(fmt::format("Use a build of ollama for ROCm {}, or the driver of the "
                           "release that it brings along.",
                           *installed))};
  mismatch.alternatives = {{"rocm-regression", 0.3, "the driver of the release before"}};
  return mismatch;
}

}  // namespace

std::optional<Hypothesis> find_bundled_runtime(const LogSubject& subject) {
  if (auto other = find_other_hip(subject)) return other;
  const Observation* bundled = subject.log.first("runtime-bundled");
  const Observation* failed = failure_at_start(subject.log);
  if (bundled == nullptr || failed == nullptr) return std::nullopt;
  const Observation* cured = works_with_the_systems(subject.log);
  const bool inside = bundled->log == failed->log && bundled->line == failed->line;
  if (cured == nullptr && !inside) return std::nullopt;
  Hypothesis mismatch = make_mismatch(subject, *failed);
  mismatch.confidence = cured != nullptr ? 0.72 : 0.36;
  mismatch.title = "The ROCm runtime that the program brings along does not work here";
  mismatch.reasons.emplace_back(
      "The program loads its own copy of the runtime, not the system's. A copy of another release "
      "may not fit the driver, or be broken itself.");
  mismatch.evidence.push_back(show(subject, *bundled, logs::describe(*bundled)));
  if (cured != nullptr) {
    mismatch.reasons.emplace_back("With the system's libraries it is said to work.");
    mismatch.evidence.push_back(show(subject, *cured, "with the system's copy"));
  }
  mismatch.fix = {
      sentence_with("Let the system's libraries be loaded first",
                    "LD_LIBRARY_PATH=/opt/rocm/lib:$LD_LIBRARY_PATH PROGRAM"),
      sentence("Or move the program's own libhsa-runtime64.so and libamdhip64.so away."),
      sentence("Report both versions to who builds the program.")};
  mismatch.alternatives = {
      {"rocm-regression", 0.3, "an older build of the program, which brings another ROCm"}};
  return mismatch;
}

}  // namespace headroom::findings
