// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/told_topics.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "findings/causes/choice.h"
#include "findings/causes/conclusions.h"
#include "findings/causes/recovery.h"
#include "findings/causes/shortfall.h"
#include "findings/causes/step_figures.h"
#include "knowledge/subjects.h"
#include "logs/cut_line.h"
#include "logs/matcher.h"
#include "logs/sentence.h"

namespace headroom::findings {
namespace {

using knowledge::Role;
using logs::Observation;

struct Subject {
  std::string_view word;
  double weight;
};

struct Topic {
  std::string_view cause;
  std::array<Subject, 7> subjects;
};

// A subject that is nearly always about the cause has 2, one that the cause shares with others 1
// or less, and one that it hardly ever comes with less than 0. Judged by hand from how reports in
// public trackers are told; no weight is fitted.
// clang-format off
constexpr Topic topics[] = {
  {"rccl-p2p", {{{"several-gpus", 1}, {"garbage", 1.2}, {"one-gpu-works", 1.2}, {"peer", 2}, {"hang", 0.5}, {"collective", 0.4}}}},
  {"collective-hang", {{{"collective", 1.3}, {"hang", 1.5}, {"several-gpus", 0.8}, {"one-gpu-works", 0.8}, {"garbage", -1}}}},
  {"igpu-selected", {{{"igpu", 1.8}, {"choice", 1.4}, {"unseen", 0.2}}}},
  {"gfx-target-missing", {{{"target", 2}, {"supported", 0.6}, {"override", 0.4}, {"apu", 0.2}}}},
  {"gfx-override-wrong", {{{"override", 1.7}, {"desktop", 0.4}, {"without", 0.4}, {"target", 0.3}}}},
  {"gpu-unsupported", {{{"old-gpu", 1.6}, {"supported", 1.2}, {"unseen", 0.5}}}},
  {"gfx-target-dropped", {{{"old-gpu", 1.1}, {"changed", 1.5}, {"rocm-release", 0.4}, {"unseen", 0.4}}}},
  {"kernel-too-old", {{{"kernel", 1.7}, {"unseen", 0.8}, {"apu", 0.3}, {"firmware", -0.5}}}},
  {"driver-not-loaded", {{{"module", 2}, {"kernel", 0.5}, {"unseen", 0.5}}}},
  {"firmware-bad", {{{"firmware", 1.8}, {"changed", 0.7}, {"hang", 0.6}, {"desktop", 0.6}}}},
  {"rocm-regression", {{{"changed", 1.5}, {"rocm-release", 1.2}, {"firmware", -0.8}, {"module", -0.8}, {"kernel", -0.3}}}},
  {"wrong-wheel", {{{"wheel", 1.9}, {"unseen", 0.4}, {"python", -0.5}, {"target", -0.5}}}},
  {"python-version-unsupported", {{{"python", 1.5}, {"no-package", 1.4}, {"wheel", 0.3}}}},
  {"ttm-cap", {{{"gtt", 2}, {"apu", 0.5}, {"carve-out", -0.1}, {"gttsize", -1}}}},
  {"gttsize-cap", {{{"gttsize", 2.2}, {"apu", 0.3}, {"without", 0.3}}}},
  {"uma-carveout-small", {{{"carve-out", 1.6}, {"apu", 0.7}, {"miscount", 0.4}, {"igpu", 0.3}}}},
  {"free-memory-misreported", {{{"miscount", 1.6}, {"apu", 0.3}, {"full", 0.3}, {"gtt", 0.3}}}},
  {"device-permission", {{{"rights", 1.7}, {"container", 0.6}, {"given", 0.5}, {"unseen", 0.3}}}},
  {"kfd-not-passed", {{{"given", 1.7}, {"container", 0.8}, {"unseen", 0.3}}}},
  {"host-without-kfd", {{{"windows", 1.8}, {"given", 0.7}, {"container", 0.4}, {"unseen", 0.5}}}},
  {"pcie-atomics", {{{"atomics", 2.2}, {"slot", 1.5}, {"unseen", 0.8}}}},
  {"bar-too-small", {{{"bar", 2.2}, {"slot", 0.4}, {"hang", 0.2}}}},
  {"vram-held-by-other", {{{"others-hold", 1.8}, {"full", 0.9}, {"miscount", 0.2}}}},
  {"vram-orphaned", {{{"stays", 2}, {"full", 0.4}, {"others-hold", -0.5}}}},
  {"fragmentation", {{{"pieces", 2.2}, {"full", 0.6}}}},
  {"job-too-big", {{{"full", 1.2}, {"size", 1.2}, {"others-hold", -1}, {"pieces", -0.5}}}},
  {"memory-fraction-cap", {{{"share", 2.2}, {"full", 0.3}}}},
  {"cgroup-memory-limit", {{{"host-limit", 1.9}, {"container", 0.8}, {"full", 0.2}}}},
  {"managed-memory", {{{"shared-memory", 2}, {"garbage", 0.3}, {"desktop", 0.2}, {"without", 0.3}}}},
  {"missing-library", {{{"library", 2}, {"two-releases", -0.6}}}},
  {"rocm-version-mismatch", {{{"two-releases", 1.6}, {"library", 0.8}, {"rocm-release", 0.4}, {"changed", -0.5}}}},
  {"miopen-db", {{{"tuning", 1.3}, {"storage", 1.3}}}},
  {"bitsandbytes-no-rocm", {{{"bitsandbytes", 2.2}}}},
  {"torchao-incompatible", {{{"torchao", 2.2}}}},
  {"unsupported-option", {{{"option", 1.6}, {"without", 0.8}, {"supported", 0.4}, {"changed", -0.5}}}},
  {"framework-bug", {{{"numbers", 1.4}, {"fixed-in", 1.6}, {"other-vendor", 0.6}, {"own-code", -1}}}},
  {"app-bug", {{{"own-code", 1.9}, {"numbers", 0.5}}}},
  {"hw-error", {{{"hardware", 2.1}, {"slot", 0.3}, {"desktop", 0.2}}}},
  {"gpu-hang", {{{"desktop", 1.9}, {"hang", 0.3}, {"firmware", -0.4}, {"several-gpus", -0.5}}}},
  {"hipblas-workspace", {{{"workspace", 2.1}}}},
  {"backend-unavailable", {{{"backend", 1.9}, {"without", 0.3}}}},
};
// clang-format on

constexpr double least_weight = 1.9;  // One subject that names the cause, or two that it shares.
constexpr double least_lead = 0.25;   // Over the topic that comes next.
// Whoever writes more than this writes of more than one failure, and speaks of everything once.
// Reports in which a guess was right had up to ten sentences; a research note, 77.
constexpr std::size_t most_sentences = 40;

// What only a GPU that uses system memory suffers from.
constexpr std::string_view of_shared_memory = "ttm-cap gttsize-cap uma-carveout-small";

using Line = std::pair<std::uint64_t, std::uint64_t>;  // Log and line.

template <typename Wanted>
std::set<Line> lines_of(const logs::Observations& log, const Wanted& is_wanted) {
  std::set<Line> lines;
  for (const Observation& one : log.all()) {
    if (is_wanted(one)) lines.emplace(one.log, one.line);
  }
  return lines;
}

// The sentences but those that a program is known to print word for word.
std::vector<const Observation*> told_sentences(const logs::Observations& log) {
  const std::set<Line> printed = lines_of(log, [](const Observation& one) {
    const auto role = one.signature->role;
    const bool is_known = one.signature->origin.certainty <= knowledge::Certainty::measured &&
                          role != Role::fact && role != Role::command;
    return is_known || role == Role::noise;
  });
  std::vector<const Observation*> told;
  for (const Observation* one : log.of("sentence")) {
    if (!printed.contains({one->log, one->line})) told.push_back(one);
  }
  return told;
}

// The sentence with what it says is the same as before left blank: "on the same kernel, firmware
// and BIOS" is about none of them. Places stay what they are.
std::string without_the_unchanged(std::string text) {
  static const RE2 unchanged(
      R"((?i)(\b(?:the )?(?:very |exact )?(?:same|identical|unchanged) )"
      R"((?:kernel|firmware|bios|uefi|driver|linux-firmware|rocm|hardware|machine)\b)"
      R"((?:(?: ?[/,&+] ?| and |, and )(?:kernel|firmware|bios|uefi|driver|rocm|hardware|machine)\b)*)"
      R"(|\b(?:kernel|firmware|bios|uefi|driver)\b)"
      R"((?:(?: ?[/,&+] ?| and |, and )(?:kernel|firmware|bios|uefi|driver)\b)*)"
      R"( (?:itself )?(?:(?:is|are|was|were|has|have) )?(?:been )?)"
      R"((?:unchanged|identical|not (?:changed|touched)|untouched|the same)\b))");
  re2::StringPiece rest(text);
  re2::StringPiece same;
  while (RE2::FindAndConsume(&rest, unchanged, &same)) {
    const auto at = static_cast<std::size_t>(same.data() - text.data());
    std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(at), same.size(), ' ');
  }
  return text;
}

// What is spoken of, and where first.
using Subjects = std::map<std::string, Evidence, std::less<>>;

// The expressions are compiled here, where a report needs a guess: a log in which its program says
// what failed, and a healthy one, are answered without them.
Subjects subjects_of(const logs::Observations& log) {
  Subjects subjects;
  const auto told = told_sentences(log);
  if (told.empty() || told.size() > most_sentences) return subjects;
  const auto table = knowledge::load_subjects();
  if (!table) return subjects;
  const auto matcher = logs::Matcher::make(*table);
  if (!matcher) return subjects;
  std::vector<int> places;
  logs::Matcher::Scratch scratch;
  for (const Observation* sentence : told) {
    const std::string text = without_the_unchanged(sentence->text);
    matcher->match(text, places, scratch);
    for (const int place : places) {
      const auto& spoken_of = table->rows[static_cast<std::size_t>(place)];
      if (subjects.contains(spoken_of.id)) continue;
      const std::size_t begin = matcher->extract(place, text).begin;
      subjects[spoken_of.id] = {sentence->log_name, static_cast<int>(sentence->line),
                                logs::cut_around(sentence->text, begin), spoken_of.says};
    }
  }
  return subjects;
}

ToldTopic weigh(const Topic& topic, const Subjects& subjects, bool is_apu) {
  ToldTopic told{topic.cause, 0, {}};
  for (const Subject& one : topic.subjects) {
    const auto spoken_of = subjects.find(one.word);
    if (spoken_of == subjects.end()) {
      if (is_apu && one.word == "apu") told.weight += one.weight;
      continue;
    }
    told.weight += one.weight;
    const Evidence& line = spoken_of->second;
    const bool is_new = std::none_of(told.lines.begin(), told.lines.end(), [&](const auto& shown) {
      return shown.line == line.line && shown.source == line.source;
    });
    if (one.weight > 0 && is_new) told.lines.push_back(line);
  }
  return told;
}

// Whether a guess may be made at all: a person tells of trouble in a sentence, and programs print
// neither work nor lines that only look like trouble, unless one of them failed in the end. What is
// told then may be about those lines, and they are harmless.
bool may_be_guessed(const LogSubject& subject) {
  const logs::Observations& log = subject.log;
  if (subject.scene.is_foreign() || log.seen("said-to-do-no-harm")) return false;
  if (!tells_of_trouble(log) || is_healthy(subject)) return false;
  if (is_hearsay(log)) return false;
  const bool looks_healthy =
      std::any_of(log.all().begin(), log.all().end(), [](const Observation& one) {
        const auto role = one.signature->role;
        return role == Role::noise || (role == Role::progress && !logs::is_sentence(one.text));
      });
  return !looks_healthy || standing_failure(log) != nullptr;
}

}  // namespace

bool is_hearsay(const logs::Observations& log) {
  return log.seen("no-log-told") && log.first_with(Role::failure) == nullptr;
}

bool tells_of_trouble(const logs::Observations& log) {
  const std::set<Line> harmless = lines_of(log, [&](const Observation& one) {
    const bool refuted = one.id() == "module-not-loaded" && !is_failure(log, one);
    return refuted || one.signature->role == Role::noise;
  });
  // Whoever asks what is wrong about lines tells of nothing that does not work.
  static const RE2 asks(R"((?i)^\s*what(?:.s| is) wrong (?:with|here|about)\b[^.?!]*\?\s*$)");
  const auto told = log.of("trouble-words");
  return std::any_of(told.begin(), told.end(), [&](const Observation* one) {
    if (RE2::FullMatch(one->text, asks)) return false;
    return !harmless.contains({one->log, one->line}) && logs::is_sentence(one->text);
  });
}

bool speaks_of(const logs::Observations& log, std::string_view what) {
  return subjects_of(log).contains(what);
}

bool is_for_other_gpus(const LogSubject& subject, std::string_view cause) {
  return subject.scene.discrete_gpu() != nullptr && subject.scene.integrated_gpu() == nullptr &&
         names_cause(of_shared_memory, cause);
}

bool is_refuted_by_figures(const LogSubject& subject, std::string_view cause) {
  constexpr std::string_view of_amounts =
      "free-memory-misreported job-too-big vram-held-by-other vram-orphaned ttm-cap gttsize-cap "
      "uma-carveout-small";
  if (!names_cause(of_amounts, cause)) return false;
  // Every step ended, with no more memory than the one before.
  const bool is_steady = steady_at_steps(subject.log) != nullptr;
  if (is_steady && subject.log.first_with(Role::failure) == nullptr) return true;
  const auto failed = failed_allocation(subject);
  return failed && is_tiny_beside_free(*failed);
}

std::optional<ToldTopic> told_topic(const LogSubject& subject) {
  if (!may_be_guessed(subject)) return std::nullopt;
  const Subjects subjects = subjects_of(subject.log);
  if (subjects.empty()) return std::nullopt;
  const bool has_apu = subject.scene.integrated_gpu() != nullptr;
  const bool has_card = subject.scene.discrete_gpu() != nullptr;
  std::optional<ToldTopic> best;
  double second = 0;
  for (const Topic& topic : topics) {
    if (is_for_other_gpus(subject, topic.cause)) continue;
    if (is_refuted_by_figures(subject, topic.cause)) continue;
    ToldTopic told = weigh(topic, subjects, has_apu && !has_card);
    if (best && told.weight <= best->weight) {
      second = std::max(second, told.weight);
      continue;
    }
    if (best) second = best->weight;
    best = std::move(told);
  }
  if (best && best->lines.empty()) return std::nullopt;
  if (!best || best->weight < least_weight || best->weight - second < least_lead) {
    return std::nullopt;
  }
  return best;
}

}  // namespace headroom::findings
