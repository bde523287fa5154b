// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/told_story.h"

#include <re2/re2.h>

#include <algorithm>
#include <string>
#include <utility>

#include "findings/causes/crash_signs.h"
#include "findings/causes/told_words.h"

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

bool is_about(std::string_view text, Component about) {
  const auto words = told_words(text);
  return std::any_of(words.begin(), words.end(), [&](const ToldWord& word) {
    return word.kind == WordKind::component && word.component == about;
  });
}

// A list calls one build of the component good and another one bad.
Story of_labels(const LogSubject& subject, Component about, std::string_view what, double sure) {
  Story story{0, what, {}};
  const Observation *good = nullptr, *bad = nullptr;
  for (const Observation* one : subject.log.of("build-labelled")) {
    if (!is_about(one->value("labelled"), about)) continue;
    (one->value("good").empty() ? bad : good) = one;
  }
  if (good == nullptr || bad == nullptr || good->value("labelled") == bad->value("labelled")) {
    return story;
  }
  story.told.told = bad;
  story.confidence = sure;
  return story;
}

bool tells_that_it_worked(std::string_view line) {
  static const RE2 until(
      R"((?i)\b(?:worked|ran|trained|loaded|was (?:fine|ok\w*))\b[^.;]{0,40}\b(?:until|till|before|yesterday|last (?:night|week|month))\b)");
  if (RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), until)) return true;
  const auto words = told_words(line);
  return std::any_of(words.begin(), words.end(),
                     [](const ToldWord& word) { return word.kind == WordKind::once; });
}

// It worked before, and the component is the only thing that somebody changed since.
Story of_only_change(const LogSubject& subject, Component about, std::string_view what,
                     double sure) {
  Story story{0, what, {}};
  const Observation* line = only_change_since_it_worked(subject.log);
  if (line == nullptr || !is_about(line->value("change"), about)) return story;
  story.told.told = line;
  story.confidence = sure;
  return story;
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

const Observation* only_change_since_it_worked(const logs::Observations& log) {
  const Observation* change = log.first("only-change-told");
  if (change == nullptr) return nullptr;
  const auto told = log.of("sentence");
  const bool worked = tells_that_it_worked(change->text) ||
                      std::any_of(told.begin(), told.end(), [](const Observation* one) {
                        return tells_that_it_worked(one->text);
                      });
  return worked ? change : nullptr;
}

Story story_of(const LogSubject& subject, std::string_view cause) {
  Story best;
  if (cause == "rocm-regression") {
    take(of_releases(subject, Component::rocm, "ROCm", 0.62), best);
    take(of_releases(subject, Component::driver, "the driver", 0.5), best);
    take(of_bisection(subject, Component::rocm, "ROCm", 0.6), best);
    take(of_labels(subject, Component::rocm, "ROCm", 0.64), best);
    take(of_only_change(subject, Component::rocm, "ROCm", 0.64), best);
    take(of_only_change(subject, Component::driver, "the driver", 0.64), best);
  } else if (cause == "framework-bug") {
    take(of_releases(subject, Component::torch, "PyTorch", 0.5), best);
    take(of_releases(subject, Component::program, "the program", 0.5), best);
    take(of_bisection(subject, Component::program, "the program", 0.58), best);
    take(of_only_change(subject, Component::program, "the program", 0.6), best);
  } else if (cause == "firmware-bad") {
    take(newest_firmware(subject), best);
    take(of_bisection(subject, Component::firmware, "firmware", 0.6), best);
    take(of_only_change(subject, Component::firmware, "firmware", 0.64), best);
  } else if (cause == "kernel-too-old") {
    take(newer_kernel(subject), best);
    take(of_bisection(subject, Component::kernel, "the kernel", 0.58), best);
  }
  return best;
}

}  // namespace headroom::findings
