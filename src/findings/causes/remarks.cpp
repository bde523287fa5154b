// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/remarks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "findings/causes/choice.h"
#include "findings/causes/recovery.h"
#include "findings/causes/told_story.h"
#include "findings/causes/told_topics.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

constexpr double when_shown = 0.93;
constexpr double when_likely = 0.75;
constexpr double when_said = 0.6;
constexpr double when_perhaps = 0.45;
// Just enough for an answer where nothing else is known.
constexpr double when_talked_about = most_of_a_mention;
// The report's subjects together point to it.
constexpr double when_all_is_about = 0.42;

// The first remark about the cause: "said:CAUSE" or "said:CAUSE/WHAT", or likewise with another
// beginning. "shown:CAUSE/likely" has other causes too.
const logs::Observation* first_remark(const logs::Observations& log, std::string_view beginning,
                                      const std::string& cause) {
  const std::string id = std::string(beginning) + cause;
  for (const logs::Observation& one : log.all()) {
    if (one.id() == id || one.id().starts_with(id + "/")) return &one;
  }
  return nullptr;
}

// "said:CAUSE/perhaps" is what is also said where the cause is another one.
double sure_of(const logs::Observation& said) {
  return said.id().ends_with("/perhaps") ? when_perhaps : when_said;
}

// What is newer, or set, is also told by notes of a release, and by programs that choose among
// kernels of their own; the other remarks tell of trouble themselves.
constexpr std::string_view told_without_trouble =
    "kernel-too-old firmware-bad memory-fraction-cap unsupported-option";

// Whether a remark may name the cause: something failed, or somebody tells that it did. A job that
// does its work has no cause to be named.
bool is_about_trouble(const logs::Observations& log, std::string_view cause) {
  const bool is_told = log.any_of({"trouble-words", "trouble-ended", "outcome-told"});
  if (is_told || standing_failure(log) != nullptr) return true;
  return !names_cause(told_without_trouble, cause) &&
         log.first_with(knowledge::Role::progress) == nullptr;
}

Hypothesis make(const LogSubject& subject, const CauseRule& rule, const logs::Observation& seen) {
  Hypothesis told;
  told.title = logs::describe(seen);
  told.reasons.emplace_back(rule.meaning);
  told.evidence = {show(subject, seen)};
  told.fix = {sentence(std::string(rule.fix))};
  return told;
}

// Whether a program wrote the line: one that is known to fail, or to look as if it did.
bool is_of_a_program(const logs::Observations& log, const logs::Observation& line) {
  return std::any_of(log.all().begin(), log.all().end(), [&](const logs::Observation& one) {
    const auto role = one.signature->role;
    const bool known = role == knowledge::Role::failure || role == knowledge::Role::noise;
    return known && one.log == line.log && one.line == line.line;
  });
}

// People who tell of trouble come back to what it is about. Alone that is a guess.
std::optional<Hypothesis> find_topic(const LogSubject& subject, const CauseRule& rule) {
  const logs::Observations& log = subject.log;
  const auto* topic = first_remark(log, "about:", std::string(rule.id));
  const bool trouble = log.any_of({"trouble-words", "trouble-ended", "said-to-hang"}) ||
                       standing_failure(log) != nullptr;
  if (topic == nullptr || !trouble || is_of_a_program(log, *topic)) return std::nullopt;
  if (is_hearsay(log) || is_refuted_by_figures(subject, rule.id)) return std::nullopt;
  if (is_for_other_gpus(subject, rule.id)) return std::nullopt;
  Hypothesis told = make(subject, rule, *topic);
  told.confidence = when_talked_about;
  told.reasons.emplace_back(
      "The report says that the problem is about this. Nothing more is known.");
  return told;
}

std::optional<Hypothesis> tell(const LogSubject& subject, const CauseRule& rule,
                               const Story& story) {
  if (story.confidence <= 0) return std::nullopt;
  Hypothesis told = make(subject, rule, *story.told.told);
  told.confidence = story.confidence;
  told.title = fmt::format("It is said to depend on the release of {}", story.what);
  if (!story.told.works.empty()) {
    told.reasons.push_back(
        fmt::format("It is said to work with {}.", join(story.told.works, ", ")));
  }
  if (!story.told.fails.empty()) {
    told.reasons.push_back(
        fmt::format("It is said to fail with {}.", join(story.told.fails, ", ")));
  }
  return told;
}

// Whether a story of releases is one of a fault: a newer release that only works, or works better,
// is none.
bool tells_of_a_fault(const logs::Observations& log, const Story& story) {
  const ToldVersions& told = story.told;
  if (!told.fails.empty() || told.newer_breaks || told.going_back_helps) return true;
  return log.any_of({"trouble-words", "trouble-ended", "outcome-told"}) ||
         standing_failure(log) != nullptr || log.first_with(knowledge::Role::failure) != nullptr;
}

}  // namespace

std::optional<Hypothesis> find_remark(const LogSubject& subject, const CauseRule& rule) {
  const std::string id(rule.id);
  if (const auto* seen = first_remark(subject.log, "shown:", id)) {
    Hypothesis told = make(subject, rule, *seen);
    told.confidence = seen->id().ends_with("/likely") ? when_likely : when_shown;
    return told;
  }
  const auto* said = first_remark(subject.log, "said:", id);
  const bool is_trouble = is_about_trouble(subject.log, id);
  const Story told_story = is_trouble ? story_of(subject, id) : Story{};
  auto story =
      tells_of_a_fault(subject.log, told_story) ? tell(subject, rule, told_story) : std::nullopt;
  if (said == nullptr && !story) return find_topic(subject, rule);
  if (!is_trouble) return std::nullopt;
  Hypothesis told = story ? *std::move(story) : make(subject, rule, *said);
  if (said != nullptr) told.confidence = std::max(told.confidence, sure_of(*said));
  told.is_told = true;
  told.reasons.emplace_back("The author says so. No line of a log proves it.");
  return told;
}

Hypothesis guess_of(const CauseRule& rule, ToldTopic topic) {
  Hypothesis guess;
  guess.confidence = when_all_is_about;
  guess.title = std::string(rule.meaning.substr(0, rule.meaning.find_last_not_of('.') + 1));
  guess.reasons = {std::string(rule.meaning),
                   "The report says that the problem is about this. Nothing more is known."};
  guess.evidence = std::move(topic.lines);
  guess.fix = {sentence(std::string(rule.fix))};
  return guess;
}

}  // namespace headroom::findings
