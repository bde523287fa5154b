// SPDX-License-Identifier: Apache-2.0
#include "findings/log_diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "findings/causes/causes.h"
#include "findings/causes/choice.h"
#include "findings/causes/conclusions.h"
#include "findings/causes/contradiction.h"
#include "findings/causes/growth.h"
#include "findings/causes/recovery.h"
#include "findings/causes/shortfall.h"
#include "findings/causes/telltale.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

// A hypothesis has to be at least this sure if the run did its work.
constexpr double least_in_a_healthy_run = 0.75;

Cause make_cause(std::string_view id, const Hypothesis& hypothesis) {
  return {std::string(id),
          hypothesis.title,
          hypothesis.confidence,
          hypothesis.reasons,
          hypothesis.evidence,
          hypothesis.fix,
          {},
          hypothesis.against,
          hypothesis.is_told};
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

// At most one runner-up is the cause, so together they get no more than the answer's confidence
// leaves.
void share_what_is_left(double left, std::vector<Alternative>& runners) {
  double sum = 0;
  for (const Alternative& one : runners) sum += one.confidence;
  if (sum <= left) return;
  for (Alternative& one : runners) one.confidence *= left / sum;
}

// The answer and the runners-up share the whole, the likeliest runners-up come first, and none of
// them stands above the answer.
void settle_shares(LogDiagnosis& diagnosis) {
  std::vector<Alternative>& runners = diagnosis.runners_up;
  const double cause = diagnosis.cause.confidence;
  for (Alternative& one : runners) one.confidence = std::min(one.confidence, cause);
  std::stable_sort(runners.begin(), runners.end(), [](const Alternative& a, const Alternative& b) {
    return a.confidence > b.confidence;
  });
  constexpr std::size_t most = 4;
  if (runners.size() > most) runners.resize(most);
  share_what_is_left(1 - cause, runners);
}

void fill_runners_up(const std::vector<Candidate>& candidates, const Hypothesis& chosen,
                     LogDiagnosis& diagnosis) {
  for (const Alternative& one : chosen.alternatives) {
    add_runner_up(diagnosis.runners_up, one, diagnosis.cause.id);
  }
  for (const Candidate& one : candidates) {
    if (one.explained_by != nullptr && !one.rule->is_standing) continue;
    std::string tells;
    for (const Alternative& other : one.hypothesis.alternatives) {
      if (other.id == diagnosis.cause.id) tells = other.would_tell;
    }
    // The others share what the answer's confidence leaves.
    const double left = std::min(one.hypothesis.confidence, 1 - diagnosis.cause.confidence);
    add_runner_up(diagnosis.runners_up, {std::string(one.rule->id), left, tells},
                  diagnosis.cause.id);
  }
  for (Alternative& one : diagnosis.runners_up) {
    if (one.would_tell.empty()) one.would_tell = telltale(one.id);
  }
  settle_shares(diagnosis);
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
    if (one.explained_by == nullptr || root_of(one).rule->id != diagnosis.cause.id) continue;
    if (one.rule->is_standing) continue;
    diagnosis.consequences.push_back(
        {std::string(one.rule->id), one.hypothesis.title, one.hypothesis.evidence});
  }
}

// Adds each line once, even if several signatures match it.
void add_harmless(const LogSubject& subject, LogDiagnosis& diagnosis) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> shown;
  for (const logs::Observation& one : subject.log.all()) {
    if (one.signature->role != knowledge::Role::noise) continue;
    if (!shown.emplace(one.log, one.line).second) continue;
    diagnosis.harmless.push_back(show(subject, one, logs::describe(one)));
  }
}

// If the job is as much at fault as the machine, the tensor's own remedy comes first, since it
// needs no other machine and no reboot.
void add_remedy_of_tensor(LogDiagnosis& diagnosis) {
  static const std::set<std::string_view> about_size = {
      "job-too-big",    "fragmentation",      "ttm-cap", "gttsize-cap", "uma-carveout-small",
      "kernel-too-old", "memory-fraction-cap"};
  if (!diagnosis.failed_tensor || !about_size.contains(diagnosis.cause.id)) return;
  const estimate::TensorMatch& tensor = diagnosis.failed_tensor->matches.front();
  if (tensor.removed_by.empty()) return;
  diagnosis.cause.fix.insert(diagnosis.cause.fix.begin(),
                             sentence(fmt::format("In the job, without changing the machine: {}",
                                                  tensor.removed_by.front())));
}

bool sets_a_mask(const Scene& scene) {
  static const std::set<std::string_view> masks = {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES",
                                                   "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"};
  return std::any_of(scene.settings.begin(), scene.settings.end(),
                     [](const facts::Setting& one) { return masks.contains(one.name); });
}

// What its message says of room and of the GPU: "GPU 1 has a total capacity of …".
void note_failed_allocation(const LogSubject& subject, LogDiagnosis& diagnosis) {
  const auto failed = failed_allocation(subject);
  if (!failed) return;
  diagnosis.was_refused_with_room = read_figures(*failed).shortfall == Shortfall::refused_with_room;
  constexpr std::string_view label = ". GPU ";
  const std::string& text = failed->seen->text;
  const std::size_t at = text.find(label);
  if (at == std::string::npos || sets_a_mask(subject.scene)) return;
  const std::string_view rest = std::string_view(text).substr(at + label.size());
  diagnosis.gpu = parse_u64(rest.substr(0, rest.find(' ')));
}

struct Answer {
  std::string_view id;
  Hypothesis hypothesis;
};

Answer to_answer(const Candidate& chosen, const std::vector<Candidate>& candidates) {
  Answer answer{chosen.rule->id, chosen.hypothesis};
  answer.hypothesis.confidence = confidence_among(chosen, candidates);
  return answer;
}

Answer find_answer(const LogSubject& subject, const std::vector<Candidate>& candidates) {
  const bool healthy = is_healthy(subject);
  const double least = healthy && did_its_work(subject.log) ? least_in_a_healthy_run : 0;
  const Candidate* chosen = choose(candidates);
  if (chosen != nullptr && chosen->hypothesis.confidence >= least) {
    return to_answer(*chosen, candidates);
  }
  const bool works = subject.log.first_with(knowledge::Role::progress) != nullptr;
  const bool foreign = subject.scene.is_foreign();
  if (healthy && (works || !foreign)) return {"none", conclude_healthy(subject)};
  if (foreign) return {"not-amd-gpu", conclude_not_amd(subject)};
  const double best = candidates.empty() ? 0 : candidates.front().hypothesis.confidence;
  return {"insufficient-evidence", conclude_insufficient(subject, best)};
}

}  // namespace

Evidence show(const LogSubject& /*subject*/, const logs::Observation& observation,
              std::string meaning) {
  return {observation.log_name, static_cast<int>(observation.line), observation.text,
          std::move(meaning)};
}

LogDiagnosis diagnose_logs(const LogSubject& subject) {
  return diagnose_logs(subject, cause_rules());
}

LogDiagnosis diagnose_logs(const LogSubject& subject, std::span<const CauseRule* const> rules) {
  LogDiagnosis diagnosis;
  // On another vendor's machine, only causes that can happen on any vendor's hold.
  std::vector<const CauseRule*> fitting(rules.begin(), rules.end());
  if (subject.scene.is_foreign()) {
    std::erase_if(fitting, [](const CauseRule* rule) { return !rule->any_vendor; });
  }
  const std::vector<Candidate> candidates = find_candidates(subject, fitting);
  const Answer answer = find_answer(subject, candidates);
  diagnosis.cause = make_cause(answer.id, answer.hypothesis);
  diagnosis.verdict = verdict_of(diagnosis.cause.id);
  const logs::Observation* killed = subject.log.first("host-oom-kill");
  note_failed_allocation(subject, diagnosis);
  diagnosis.is_of_host = killed != nullptr && rests_on(answer.hypothesis, *killed);
  fill_runners_up(candidates, answer.hypothesis, diagnosis);
  add_consequences(candidates, diagnosis);
  add_harmless(subject, diagnosis);
  diagnosis.timeline = make_timeline(subject);
  diagnosis.failed_tensor = find_failed_tensor(subject);
  diagnosis.growth = memory_growth(subject);
  add_remedy_of_tensor(diagnosis);
  return diagnosis;
}

namespace {

// nullptr: no log shows this cause.
const CauseRule* rule_of(std::string_view cause) {
  const auto& rules = cause_rules();
  const auto rule = std::find_if(rules.begin(), rules.end(),
                                 [&](const CauseRule* one) { return one->id == cause; });
  return rule == rules.end() ? nullptr : *rule;
}

bool is_standing(std::string_view cause) {
  const CauseRule* rule = rule_of(cause);
  return rule != nullptr && rule->is_standing;
}

bool brings_about(std::string_view cause, std::string_view sign) {
  const CauseRule* rule = rule_of(cause);
  return rule != nullptr && names_cause(rule->explains, sign);
}

// Whether the log leaves room for the machine's cause. A program's own mistake, which nearly any
// fault may look like, has to hint at that cause, or at what it brings about for a GPU; a wrong
// name in a script does not.
bool log_allows(const LogDiagnosis& diagnosis, std::string_view found) {
  constexpr std::string_view by_itself = "app-bug framework-bug crash-loop";
  if (!names_cause(by_itself, diagnosis.cause.id)) return true;
  return std::any_of(
      diagnosis.runners_up.begin(), diagnosis.runners_up.end(), [&](const Alternative& one) {
        return one.id == found || (!names_cause(by_itself, one.id) && brings_about(found, one.id));
      });
}

// Whether what was measured can have to do with what ran out: no limit of a GPU's memory makes the
// machine's RAM run out, and to raise one would make it worse; and none refuses a request for which
// there is room.
bool is_of_that_memory(const Cause& found, const LogDiagnosis& diagnosis) {
  if (diagnosis.was_refused_with_room &&
      names_cause("ttm-cap gttsize-cap uma-carveout-small vram-held-by-other vram-orphaned",
                  found.id)) {
    return false;
  }
  return !diagnosis.is_of_host || names_cause("cgroup-memory-limit limit-above-ram", found.id);
}

// What other GPUs need is not the log's: there somebody's work may be ended for nothing.
std::vector<Step> steps_for(const Diagnosis& machine, const std::string& gpu) {
  if (gpu.empty()) return joined_steps(machine);
  Diagnosis one = machine;
  one.cause->fix.clear();
  for (const Finding& finding : machine.findings) {
    if (finding.id != machine.cause->id || finding.gpu != gpu) continue;
    one.cause->fix.insert(one.cause->fix.end(), finding.fix.begin(), finding.fix.end());
  }
  return joined_steps(one.cause->fix.empty() ? machine : one);
}

// Whether what was measured on the machine explains what the log shows, and is the better answer.
bool machine_explains(const Cause& found, const Cause& told) {
  constexpr double sure_enough = 0.5;
  constexpr double least_share = 0.6;
  if (told.id == "none" || told.id == "not-amd-gpu") return false;
  if (found.confidence < sure_enough) return false;
  // The log says that something failed and not why; the machine shows something that is wrong.
  if (told.id == "insufficient-evidence") return true;
  // That nothing supports this GPU, or nothing new does, is why its code is missing.
  if (is_standing(found.id) && told.id == "gfx-target-missing") return true;
  // That something dies again and again is no reason for it, however sure.
  if (is_standing(found.id) && told.id == "crash-loop") return true;
  // What the lines prove was so when they were written, whatever the machine is like now.
  constexpr double proven_by_the_log = 0.9;
  if (told.confidence >= proven_by_the_log) return false;
  // What holds of a GPU whatever happens does not outweigh what did happen.
  constexpr double sure_by_the_log = 0.8;
  if (is_standing(found.id) && told.confidence >= sure_by_the_log) return false;
  return brings_about(found.id, told.id) && found.confidence >= told.confidence * least_share;
}

// Puts the machine's cause in the place of the log's, which becomes what it brought about.
void put_first(const Cause& found, const Diagnosis& machine, const std::string& gpu,
               LogDiagnosis& diagnosis) {
  // The failure may also have a reason that neither shows.
  constexpr double if_the_log_is_silent = 0.75;
  Cause told = std::move(diagnosis.cause);
  diagnosis.cause = found;
  diagnosis.cause.fix = steps_for(machine, gpu);
  diagnosis.is_measured = true;
  diagnosis.verdict = machine.verdict;
  diagnosis.cause.reasons.emplace_back(
      "This was measured on the machine, which counts more than the words of the log.");
  diagnosis.cause.evidence.insert(diagnosis.cause.evidence.end(), told.evidence.begin(),
                                  told.evidence.end());
  std::erase_if(diagnosis.runners_up, [&](const Alternative& one) { return one.id == found.id; });
  if (told.id == "insufficient-evidence") {
    diagnosis.cause.confidence *= if_the_log_is_silent;
    return;
  }
  add_runner_up(diagnosis.runners_up,
                {told.id, told.confidence * (1 - found.confidence), std::string(telltale(told.id))},
                found.id);
  diagnosis.consequences.insert(diagnosis.consequences.begin(),
                                {told.id, told.title, std::move(told.evidence)});
}

}  // namespace

void join_machine(const Diagnosis& machine, LogDiagnosis& diagnosis, const std::string& gpu) {
  if (!machine.cause || !is_of_that_memory(*machine.cause, diagnosis)) return;
  const Cause& found = *machine.cause;
  if (found.id == diagnosis.cause.id) {
    // The two ways to the same answer are not quite independent, so the second counts half.
    const double doubt = (1 - diagnosis.cause.confidence) * (1 - found.confidence / 2);
    // A line of the log that speaks against the answer still does so.
    const double most = diagnosis.cause.against.empty() ? 1 : most_in_doubt;
    diagnosis.cause.confidence = std::min(1 - doubt, most);
    diagnosis.cause.evidence.insert(diagnosis.cause.evidence.end(), found.evidence.begin(),
                                    found.evidence.end());
    // They name this machine's processes, cards and files.
    if (!found.fix.empty()) diagnosis.cause.fix = steps_for(machine, gpu);
  } else if (log_allows(diagnosis, found.id) && machine_explains(found, diagnosis.cause)) {
    put_first(found, machine, gpu, diagnosis);
  } else {
    const double left = std::min(found.confidence, 1 - diagnosis.cause.confidence);
    add_runner_up(diagnosis.runners_up, {found.id, left, "headroom check"}, diagnosis.cause.id);
  }
  settle_shares(diagnosis);
}

NextCommand next_of_cause(std::string_view cause) {
  const CauseRule* rule = rule_of(cause);
  return rule == nullptr || rule->next == nullptr ? NextCommand() : rule->next();
}

int exit_code(const LogDiagnosis& diagnosis) {
  return diagnosis.cause.id == "none" ? 0 : 1;
}

}  // namespace headroom::findings
