// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/choice.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "findings/causes/contradiction.h"
#include "findings/causes/control_run.h"
#include "findings/causes/exception_chain.h"
#include "findings/causes/messages.h"
#include "findings/causes/recovery.h"
#include "findings/causes/remarks.h"
#include "findings/causes/result_table.h"
#include "findings/causes/told_remedies.h"

namespace headroom::findings {
namespace {

// An explanation may be less sure than the sign it explains, down to this share.
constexpr double least_share_to_explain = 0.6;
// A rival that is at least this sure casts doubt on the answer.
constexpr double least_for_a_rival = confidence::possible;

// Finds where a hypothesis shows first, over all logs. One that rests on stated facts alone comes
// last.
std::pair<std::size_t, int> place_of(const LogSubject& subject, const Hypothesis& hypothesis) {
  constexpr auto nowhere = std::numeric_limits<std::size_t>::max();
  if (hypothesis.evidence.empty()) return {nowhere, 0};
  const Evidence& first = hypothesis.evidence.front();
  const auto log = log_of(subject, first);
  return {log.value_or(nowhere), log ? first.line : 0};
}

bool leads_to(const Candidate& from, const Candidate& to) {
  for (const Candidate* one = &from; one != nullptr; one = one->explained_by) {
    if (one == &to) return true;
  }
  return false;
}

class Explanations {
 public:
  explicit Explanations(const LogSubject& subject) : subject_(subject), chain_(subject.log) {}

  bool holds(const Candidate& cause, const Candidate& sign) const {
    const double sure = cause.hypothesis.confidence;
    // A guess does not explain away what is plain to see, and a hypothesis too weak to be an answer
    // explains nothing.
    if (sure < least_for_an_answer || sign.hypothesis.is_no_consequence) return false;
    if (sure < sign.hypothesis.confidence * least_share_to_explain) return false;
    // Nor does what a report merely speaks of explain what is surer than itself.
    if (sure <= most_of_a_mention && sign.hypothesis.confidence > sure) return false;
    if (names_cause(cause.rule->explains, sign.rule->id)) {
      // If each explains the other, the surer one does; the list is in that order.
      return !names_cause(sign.rule->explains, cause.rule->id) || &cause < &sign;
    }
    return chain_.brings_about(subject_, cause.hypothesis, sign.hypothesis);
  }

 private:
  const LogSubject& subject_;
  ExceptionChain chain_;
};

bool rests_on(const Hypothesis& one, const Evidence& line) {
  return std::any_of(one.evidence.begin(), one.evidence.end(), [&](const Evidence& other) {
    return other.line > 0 && other.line == line.line && other.source == line.source;
  });
}

// Whether both explain the same line, the first that either names. A fact that both go by, such as
// the release in use, does not make one failure of two.
bool share_a_line(const Hypothesis& one, const Hypothesis& other) {
  if (one.evidence.empty() || other.evidence.empty()) return false;
  return rests_on(one, other.evidence.front()) || rests_on(other, one.evidence.front());
}

}  // namespace

bool names_cause(std::string_view list, std::string_view id) {
  const auto words = split_words(list);
  return std::find(words.begin(), words.end(), id) != words.end();
}

namespace {

// Whether a rule's hypothesis has a line of a log, or is sure enough to be an answer.
bool outweighs_a_guess(const LogSubject& subject, const Hypothesis& hypothesis) {
  if (hypothesis.confidence >= least_for_an_answer) return true;
  return std::any_of(hypothesis.evidence.begin(), hypothesis.evidence.end(),
                     [&](const Evidence& one) { return one.line > 0 && log_of(subject, one); });
}

// Adds the cause that a report in prose is about.
void add_guess(const LogSubject& subject, std::span<const CauseRule* const> rules,
               std::vector<Candidate>& candidates) {
  auto topic = told_topic(subject);
  if (!topic) return;
  for (const CauseRule* rule : rules) {
    if (rule->id != topic->cause) continue;
    Hypothesis guess = guess_of(*rule, *std::move(topic));
    weigh_contradictions(subject, rule->id, guess);
    std::erase_if(candidates, [&](const Candidate& one) { return one.rule == rule; });
    candidates.push_back({rule, std::move(guess), nullptr});
    return;
  }
}

}  // namespace

std::vector<Candidate> find_candidates(const LogSubject& subject,
                                       std::span<const CauseRule* const> rules) {
  std::vector<Candidate> candidates;
  bool is_known = false;  // A rule or a remark says more than a guess would.
  const std::vector<TypedRun> runs = find_typed_runs(subject.log);
  const std::vector<ControlRun> control_runs = find_control_runs(subject.log);
  const std::vector<ToldRemedy> remedies = told_remedies(subject);
  for (const CauseRule* rule : rules) {
    auto hypothesis = rule->find(subject);
    is_known |= hypothesis && outweighs_a_guess(subject, *hypothesis);
    auto remark = find_remark(subject, *rule);
    is_known |= remark && remark->confidence > most_of_a_mention;
    auto message = find_message(subject, *rule);
    is_known |= message && message->confidence >= least_for_an_answer;
    for (auto* other : {&remark, &message}) {
      const bool is_surer =
          *other && (!hypothesis || (*other)->confidence > hypothesis->confidence);
      if (is_surer) hypothesis = std::move(*other);
    }
    const bool was_known = hypothesis && hypothesis->confidence >= confidence::possible;
    weigh_remedies(subject, remedies, *rule, hypothesis);
    is_known |= !was_known && hypothesis && hypothesis->confidence >= confidence::possible;
    if (!hypothesis) {
      hypothesis = shown_by_control_run(subject, control_runs, *rule);
      if (!hypothesis) hypothesis = shown_by_table(subject, *rule);
      is_known |= hypothesis.has_value();
      if (!hypothesis) continue;
      candidates.push_back({rule, *std::move(hypothesis), nullptr});
      continue;
    }
    constexpr double worked_all_the_same = 0.5;
    if (is_made_up_for(subject, *hypothesis)) hypothesis->confidence *= worked_all_the_same;
    weigh_control_runs(control_runs, rule->id, *hypothesis);
    weigh_told_outcomes(subject, rule->id, *hypothesis);
    weigh_later_runs(subject, runs, rule->id, *hypothesis);
    weigh_contradictions(subject, rule->id, *hypothesis);
    candidates.push_back({rule, *std::move(hypothesis), nullptr});
  }
  if (!is_known) add_guess(subject, rules, candidates);
  std::stable_sort(candidates.begin(), candidates.end(), [&](const auto& a, const auto& b) {
    const double sure_a = a.hypothesis.confidence, sure_b = b.hypothesis.confidence;
    if (sure_a != sure_b) return sure_a > sure_b;
    // A later line may be a consequence of an earlier one.
    return place_of(subject, a.hypothesis) < place_of(subject, b.hypothesis);
  });
  const Explanations explanations(subject);
  for (Candidate& sign : candidates) {
    for (const Candidate& cause : candidates) {
      if (leads_to(cause, sign) || !explanations.holds(cause, sign)) continue;
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

const Candidate& root_of(const Candidate& candidate) {
  const Candidate* root = &candidate;
  while (root->explained_by != nullptr) root = root->explained_by;
  return *root;
}

double confidence_among(const Candidate& chosen, const std::vector<Candidate>& candidates) {
  const double own = chosen.hypothesis.confidence;
  double rival = 0;
  for (const Candidate& one : candidates) {
    if (&root_of(one) == &chosen || one.explained_by != nullptr) continue;
    if (share_a_line(one.hypothesis, chosen.hypothesis)) continue;
    rival = std::max(rival, one.hypothesis.confidence);
  }
  if (rival < least_for_a_rival || own >= 1) return own;
  // Only one is the root cause, so each is weighed by its odds, as is "neither".
  const auto odds = [](double sure) { return sure / std::max(1 - sure, 0.01); };
  const double shared = odds(own) / (odds(own) + odds(rival) + 1);
  // A rival that explains as much leaves no answer sure.
  return rival >= own ? std::min(shared, most_in_doubt) : shared;
}

}  // namespace headroom::findings
