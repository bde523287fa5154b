// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/told_story.h"

#include <re2/re2.h>

#include <algorithm>
#include <string>
#include <utility>

#include "findings/causes/crash_signs.h"

namespace headroom::findings {
namespace {

using logs::Observation;

// Whether a version that is said to work is not the one in use.
bool works_elsewhere(const ToldVersions& told, const facts::Text& used) {
  if (!used) return false;
  return std::any_of(told.works.begin(), told.works.end(), [&](const std::string& one) {
    return !used->starts_with(one) && !one.starts_with(*used);
  });
}

// Whether it failed in a way that a release can bring about.
bool died_on_the_gpu(const LogSubject& subject) {
  return find_crash_signs(subject.log).of_gpu() != nullptr;
}

// What a change that somebody found by bisection belongs to.
Component component_of_change(const Observation& line) {
  static const RE2 kernel(R"((?i)\bkernel\b|\blinux\b|\bdrm/|\bamdkfd\b)");
  static const RE2 rocm(
      R"((?i)\b(?:clr|rocr|rocm-systems|therock|hipblaslt|rocblas|miopen|rccl|comgr|rocm-libraries)\b)");
  if (line.text.find("firmware") != std::string::npos) return Component::firmware;
  if (RE2::PartialMatch(line.text, kernel)) return Component::kernel;
  return RE2::PartialMatch(line.text, rocm) ? Component::rocm : Component::program;
}

// Somebody looked for the change that broke it, and found it in this component.
Story of_bisection(const LogSubject& subject, Component about, std::string_view what, double sure) {
  Story story{0, what, {}};
  for (const Observation* line : subject.log.of("bisect-told")) {
    if (component_of_change(*line) != about) continue;
    story.told.told = line;
    story.confidence = sure;
    break;
  }
  return story;
}

void take(Story story, Story& best) {
  if (story.told.told != nullptr && story.confidence > best.confidence) best = std::move(story);
}

// A release breaks it, and another one works.
Story of_releases(const LogSubject& subject, Component about, std::string_view what, double sure) {
  Story story{0, what, told_versions(subject.log, about)};
  const ToldVersions& told = story.told;
  const facts::Text& used =
      about == Component::torch ? subject.scene.torch : rocm_of(subject.scene);
  if (told.going_back_helps || told.newer_breaks || told.is_comparison()) {
    story.confidence = sure;
    return story;
  }
  const bool of_old = works_elsewhere(told, used) || (told.used_to_work && !told.fails.empty());
  const bool of_new =
      told.newer_helps || (!used && !told.works.empty() && died_on_the_gpu(subject));
  if (of_old || of_new) story.confidence = sure - 0.1;
  return story;
}

Story newest_firmware(const LogSubject& subject) {
  Story story{0, "firmware", told_versions(subject.log, Component::firmware)};
  const ToldVersions& told = story.told;
  const bool worse = told.going_back_helps || told.newer_breaks || told.is_comparison();
  story.confidence = worse ? 0.65 : told.newer_helps ? 0.5 : 0;
  return story;
}

Story newer_kernel(const LogSubject& subject) {
  Story story{0, "the kernel", told_versions(subject.log, Component::kernel)};
  const ToldVersions& told = story.told;
  // What a newer kernel broke, one with the fix mends as well; which has it is not told.
  const bool worse = told.going_back_helps || told.newer_breaks || told.is_comparison();
  story.confidence = told.newer_helps && !worse ? 0.55 : worse ? 0.5 : 0;
  const facts::Text& used = subject.scene.machine.kernel;
  const bool other =
      used ? works_elsewhere(told, used) : !told.works.empty() && died_on_the_gpu(subject);
  if (story.confidence <= 0 && other) story.confidence = 0.5;
  return story;
}

}  // namespace

Story story_of(const LogSubject& subject, std::string_view cause) {
  Story best;
  if (cause == "rocm-regression") {
    take(of_releases(subject, Component::rocm, "ROCm", 0.62), best);
    take(of_releases(subject, Component::driver, "the driver", 0.5), best);
    take(of_bisection(subject, Component::rocm, "ROCm", 0.6), best);
  } else if (cause == "framework-bug") {
    take(of_releases(subject, Component::torch, "PyTorch", 0.5), best);
    take(of_releases(subject, Component::program, "the program", 0.5), best);
    take(of_bisection(subject, Component::program, "the program", 0.58), best);
  } else if (cause == "firmware-bad") {
    take(newest_firmware(subject), best);
    take(of_bisection(subject, Component::firmware, "firmware", 0.6), best);
  } else if (cause == "kernel-too-old") {
    take(newer_kernel(subject), best);
    take(of_bisection(subject, Component::kernel, "the kernel", 0.58), best);
  }
  return best;
}

}  // namespace headroom::findings
