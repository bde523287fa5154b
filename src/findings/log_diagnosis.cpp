// SPDX-License-Identifier: Apache-2.0
#include "findings/log_diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "findings/causes/causes.h"
#include "findings/causes/conclusions.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

struct Candidate {
  const CauseRule* rule = nullptr;
  Hypothesis hypothesis;
  const Candidate* explained_by = nullptr;
};

// Below this a hypothesis is a runner-up at most.
constexpr double least_for_an_answer = 0.35;

bool explains(const Candidate& cause, const Candidate& sign) {
  // A guess does not explain away what is plain to see.
  if (cause.hypothesis.confidence < sign.hypothesis.confidence * 0.6) return false;
  const auto words = split_words(cause.rule->explains);
  return std::find(words.begin(), words.end(), sign.rule->id) != words.end();
}

std::vector<Candidate> find_candidates(const LogSubject& subject) {
  std::vector<Candidate> candidates;
  for (const CauseRule* rule : cause_rules()) {
    auto hypothesis = rule->find(subject);
    if (hypothesis) candidates.push_back({rule, *std::move(hypothesis), nullptr});
  }
  // Of equals the one that shows first in the logs: what comes later may follow from it.
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return a.hypothesis.confidence > b.hypothesis.confidence;
  });
  for (Candidate& sign : candidates) {
    for (const Candidate& cause : candidates) {
      if (&cause == &sign || cause.explained_by != nullptr || !explains(cause, sign)) continue;
      sign.explained_by = &cause;
      break;
    }
  }
  return candidates;
}

const Candidate* choose(const std::vector<Candidate>& candidates) {
  for (const Candidate& one : candidates) {
    if (one.explained_by == nullptr && one.hypothesis.confidence >= least_for_an_answer) {
      return &one;
    }
  }
  return nullptr;
}

Cause make_cause(std::string_view id, const Hypothesis& hypothesis) {
  return {std::string(id),
          hypothesis.title,
          hypothesis.confidence,
          hypothesis.reasons,
          hypothesis.evidence,
          hypothesis.fix,
          {}};
}

void add_runner_up(std::vector<Alternative>& runners, const Alternative& alternative,
                   const std::string& cause) {
  if (alternative.id == cause || alternative.confidence <= 0) return;
  for (Alternative& known : runners) {
    if (known.id != alternative.id) continue;
    known.confidence = std::max(known.confidence, alternative.confidence);
    if (known.would_tell.empty()) known.would_tell = alternative.would_tell;
    return;
  }
  runners.push_back(alternative);
}

void fill_runners_up(const std::vector<Candidate>& candidates, const Hypothesis& chosen,
                     LogDiagnosis& diagnosis) {
  for (const Alternative& one : chosen.alternatives) {
    add_runner_up(diagnosis.runners_up, one, diagnosis.cause.id);
  }
  for (const Candidate& one : candidates) {
    if (one.explained_by != nullptr) continue;
    std::string tells;
    for (const Alternative& other : one.hypothesis.alternatives) {
      if (other.id == diagnosis.cause.id) tells = other.would_tell;
    }
    // What is left of certainty is what the others share.
    const double left = std::min(one.hypothesis.confidence, 1 - diagnosis.cause.confidence);
    add_runner_up(diagnosis.runners_up, {std::string(one.rule->id), left, tells},
                  diagnosis.cause.id);
  }
  std::stable_sort(
      diagnosis.runners_up.begin(), diagnosis.runners_up.end(),
      [](const Alternative& a, const Alternative& b) { return a.confidence > b.confidence; });
  constexpr std::size_t most = 4;
  if (diagnosis.runners_up.size() > most) diagnosis.runners_up.resize(most);
}

Verdict verdict_of(const std::string& cause) {
  static const std::map<std::string, Verdict> verdicts = {
      {"none", Verdict::ok},
      {"not-amd-gpu", Verdict::no_gpu},
      {"insufficient-evidence", Verdict::unknown},
      {"gpu-unsupported", Verdict::unsuitable},
      {"gfx-target-dropped", Verdict::limited},
      {"ttm-cap", Verdict::limited},
      {"gttsize-cap", Verdict::limited},
      {"uma-carveout-small", Verdict::limited},
  };
  const auto found = verdicts.find(cause);
  return found == verdicts.end() ? Verdict::broken : found->second;
}

void add_consequences(const std::vector<Candidate>& candidates, LogDiagnosis& diagnosis) {
  for (const Candidate& one : candidates) {
    if (one.explained_by == nullptr || one.explained_by->rule->id != diagnosis.cause.id) continue;
    diagnosis.consequences.push_back(
        {std::string(one.rule->id), one.hypothesis.title, one.hypothesis.evidence});
  }
}

}  // namespace

Evidence show(const LogSubject& subject, const logs::Observation& observation,
              std::string meaning) {
  const std::size_t log = observation.log;
  return {log < subject.log_names.size() ? subject.log_names[log] : "log",
          static_cast<int>(observation.line), observation.text, std::move(meaning)};
}

LogDiagnosis diagnose_logs(const LogSubject& subject) {
  LogDiagnosis diagnosis;
  const std::vector<Candidate> candidates = find_candidates(subject);
  const Candidate* chosen = choose(candidates);
  const bool strikes_anyone = chosen != nullptr && chosen->rule->any_vendor;
  Hypothesis answer;
  if (subject.scene.is_foreign() && !strikes_anyone) {
    answer = conclude_not_amd(subject);
    diagnosis.cause = make_cause("not-amd-gpu", answer);
  } else if (chosen != nullptr) {
    answer = chosen->hypothesis;
    diagnosis.cause = make_cause(chosen->rule->id, answer);
  } else if (is_healthy(subject)) {
    answer = conclude_healthy(subject);
    diagnosis.cause = make_cause("none", answer);
  } else {
    answer = conclude_insufficient(subject);
    diagnosis.cause = make_cause("insufficient-evidence", answer);
  }
  diagnosis.verdict = verdict_of(diagnosis.cause.id);
  fill_runners_up(candidates, answer, diagnosis);
  add_consequences(candidates, diagnosis);
  for (const logs::Observation& one : subject.log.all()) {
    if (one.signature->role != knowledge::Role::noise) continue;
    diagnosis.harmless.push_back(show(subject, one, logs::describe(one)));
  }
  diagnosis.timeline = make_timeline(subject);
  return diagnosis;
}

void join_machine(const Diagnosis& machine, LogDiagnosis& diagnosis) {
  if (!machine.cause) return;
  const Cause& found = *machine.cause;
  if (found.id == diagnosis.cause.id) {
    // Two ways to the same answer, and not quite independent of one another.
    const double doubt = (1 - diagnosis.cause.confidence) * (1 - found.confidence / 2);
    diagnosis.cause.confidence = 1 - doubt;
    diagnosis.cause.evidence.insert(diagnosis.cause.evidence.end(), found.evidence.begin(),
                                    found.evidence.end());
    return;
  }
  const double left = std::min(found.confidence, 1 - diagnosis.cause.confidence);
  add_runner_up(diagnosis.runners_up, {found.id, left, "headroom check"}, diagnosis.cause.id);
}

int exit_code(const LogDiagnosis& diagnosis) {
  return diagnosis.cause.id == "none" ? 0 : 1;
}

}  // namespace headroom::findings
