// SPDX-License-Identifier: Apache-2.0
#include "findings/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>

#include "findings/needed_facts.h"
#include "findings/wsl_way.h"

namespace headroom::findings {
namespace {

using facts::Facts;
using facts::Gpu;

bool usable(const Gpu& gpu) {
  return !gpu.support || *gpu.support != knowledge::Support::unsupported;
}

bool integrated(const Gpu& gpu) {
  return gpu.integrated && *gpu.integrated;
}

// Whether the GPU was given to something else on purpose: to another driver (for a virtual
// machine), or not to this container.
bool out_of_reach(const Gpu& gpu) {
  const bool other_driver = gpu.driver && *gpu.driver != "amdgpu" && *gpu.driver != "radeon";
  return other_driver || (!gpu.kfd_id && gpu.kfd_id.missing().why == facts::Why::no_permission);
}

// Chooses the GPUs on which a job would run: usable cards, else usable APUs, else all GPUs.
std::vector<const Gpu*> choose_primary(const Facts& facts) {
  std::vector<const Gpu*> cards, apus, all;
  for (const Gpu& gpu : facts.gpus) {
    all.push_back(&gpu);
    if (usable(gpu) && !out_of_reach(gpu)) (integrated(gpu) ? apus : cards).push_back(&gpu);
  }
  if (!cards.empty()) return cards;
  return apus.empty() ? all : apus;
}

bool concerns(const Finding& finding, const Gpu& gpu) {
  return finding.gpu.empty() || finding.gpu == gpu.pci;
}

// How bad a verdict is: a GPU that no setting makes usable outweighs a broken one, and that
// outweighs a limited one.
int weight(Verdict verdict) {
  switch (verdict) {
    case Verdict::unsuitable:
      return 3;
    case Verdict::broken:
      return 2;
    case Verdict::limited:
      return 1;
    default:
      return 0;
  }
}

Verdict verdict_of(const Facts& facts, const Gpu& gpu, const std::vector<Finding>& findings) {
  const bool known = gpu.ladder.binding() != nullptr && !find_needed_missing(facts, gpu);
  Verdict worst = known ? Verdict::ok : Verdict::unknown;
  for (const Finding& finding : findings) {
    if (!finding.claim || !concerns(finding, gpu)) continue;
    if (weight(finding.claim->verdict) > weight(worst)) worst = finding.claim->verdict;
  }
  return worst;
}

// WSL shows no GPU even if jobs reach one; what is known is how far the way to it goes.
Verdict verdict_without_gpus(const Facts& facts, const std::vector<Finding>& findings) {
  const Verdict none = facts.looked ? Verdict::no_gpu : Verdict::unknown;
  if (!facts.wsl.is_wsl()) return none;
  Verdict worst = Verdict::ok;
  for (const Finding& finding : findings) {
    if (finding.claim && weight(finding.claim->verdict) > weight(worst)) {
      worst = finding.claim->verdict;
    }
  }
  if (worst != Verdict::ok) return worst;
  if (!uses_amd(facts)) return none;
  return way_is_whole(facts) && facts.wsl.windows_driver ? Verdict::ok : Verdict::unknown;
}

// A machine with one GPU that works is at worst limited, however bad the others are.
Verdict combine(const Facts& facts, const std::vector<const Gpu*>& primary,
                const std::vector<Finding>& findings) {
  if (facts.gpus.empty()) return verdict_without_gpus(facts, findings);
  Verdict worst = Verdict::ok;
  bool any_works = false;
  bool any_unknown = facts.kfd_nodes_unread > 0;  // Each unread node may be another GPU.
  for (const Gpu* gpu : primary) {
    const Verdict verdict = verdict_of(facts, *gpu, findings);
    any_works = any_works || verdict == Verdict::ok || verdict == Verdict::limited;
    any_unknown = any_unknown || verdict == Verdict::unknown;
    if (weight(verdict) > weight(worst)) worst = verdict;
  }
  if (weight(worst) > weight(Verdict::limited) && any_works) return Verdict::limited;
  return worst == Verdict::ok && any_unknown ? Verdict::unknown : worst;
}

template <class T>
void append_new(std::vector<T>& all, const std::vector<T>& more) {
  for (const T& one : more) {
    if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
  }
}

// Chooses the weightiest claim and, among equals, the one whose rule comes first. The same cause on
// other GPUs is merged with it.
std::optional<Cause> choose_cause(const std::vector<Finding>& findings) {
  const Finding* best = nullptr;
  for (const Finding& finding : findings) {
    if (!finding.claim) continue;
    if (best == nullptr || weight(finding.claim->verdict) > weight(best->claim->verdict)) {
      best = &finding;
    }
  }
  if (best == nullptr) return std::nullopt;
  bool all_same = true;  // They say the same of each GPU.
  Cause cause{best->id, best->title, best->claim->confidence, {}, {}, {}, {}};
  for (const Finding& finding : findings) {
    if (!finding.claim || finding.id != best->id) continue;
    if (!finding.gpu.empty()) append_new(cause.gpus, {finding.gpu});
    all_same = all_same && finding.title == best->title;
    append_new(cause.reasons, finding.reasons);
    append_new(cause.fix, finding.fix);
    for (const Evidence& evidence : finding.evidence) {
      const bool known =
          std::any_of(cause.evidence.begin(), cause.evidence.end(), [&](const Evidence& other) {
            return other.source == evidence.source && other.line == evidence.line;
          });
      if (!known) cause.evidence.push_back(evidence);
    }
  }
  if (cause.gpus.size() > 1) {
    const std::size_t more = cause.gpus.size() - 1;
    cause.title +=
        all_same
            ? fmt::format(", and the same on {} more GPU{}", more, more > 1 ? "s" : "")
            : fmt::format("; {} more GPU{} this problem too", more, more > 1 ? "s have" : " has");
  }
  return cause;
}

std::vector<Alternative> choose_runners_up(const std::vector<Finding>& findings,
                                           const std::string& cause) {
  std::vector<Alternative> runners;
  const auto add = [&](const Alternative& alternative) {
    const auto known = std::find_if(runners.begin(), runners.end(), [&](const Alternative& other) {
      return other.id == alternative.id;
    });
    if (alternative.id != cause && known == runners.end()) runners.push_back(alternative);
  };
  for (const Finding& finding : findings) {
    if (!finding.claim) continue;
    if (finding.id == cause) {
      for (const Alternative& alternative : finding.claim->alternatives) add(alternative);
    } else {
      // It holds too; it only matters less than the cause.
      // A command that mends it tells nothing.
      const NextCommand tells = finding.next.only_looks() ? finding.next : NextCommand::check();
      add({finding.id, finding.claim->confidence / 2, tells.text()});
    }
  }
  std::stable_sort(runners.begin(), runners.end(), [](const Alternative& a, const Alternative& b) {
    return a.confidence > b.confidence;
  });
  return runners;
}

// Scales the runners-up so that they and the cause are shares of one whole.
void limit_to_rest(double cause, std::vector<Alternative>& runners) {
  double sum = 0;
  for (const Alternative& one : runners) sum += one.confidence;
  const double rest = std::max(0.0, 1 - cause);
  if (sum <= rest) return;
  for (Alternative& one : runners) one.confidence *= rest / sum;
}

}  // namespace

Diagnosis diagnose(const Subject& subject) {
  Diagnosis diagnosis;
  for (const Rule* rule : rules()) {
    auto found = rule->find(subject);
    std::move(found.begin(), found.end(), std::back_inserter(diagnosis.findings));
  }
  for (const Gpu& gpu : subject.facts.gpus) diagnosis.suitability.push_back(assess(subject, gpu));
  diagnosis.environment =
      audit_knobs(subject.facts.environment.settings, subject.facts, subject.tables);
  const auto primary = choose_primary(subject.facts);
  for (Finding& finding : diagnosis.findings) {
    const bool decides =
        finding.gpu.empty() || std::any_of(primary.begin(), primary.end(),
                                           [&](const Gpu* gpu) { return gpu->pci == finding.gpu; });
    if (decides) continue;
    finding.severity = Severity::info;
    finding.claim.reset();
  }
  diagnosis.verdict = combine(subject.facts, primary, diagnosis.findings);
  diagnosis.cause = choose_cause(diagnosis.findings);
  diagnosis.runners_up =
      choose_runners_up(diagnosis.findings, diagnosis.cause ? diagnosis.cause->id : "");
  if (diagnosis.cause) limit_to_rest(diagnosis.cause->confidence, diagnosis.runners_up);
  std::stable_sort(diagnosis.findings.begin(), diagnosis.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  return diagnosis;
}

bool is_among_steps(const Finding& finding, const Diagnosis& diagnosis) {
  if (!diagnosis.cause || !finding.joins_steps || finding.id == diagnosis.cause->id) return false;
  const std::vector<Step>& steps = diagnosis.cause->fix;
  const bool reboots = std::find(steps.begin(), steps.end(), reboot()) != steps.end();
  // Which kernel to boot is said once: by the cause, if that is the kernel.
  return reboots && diagnosis.cause->id != "kernel-too-old";
}

std::vector<Step> added_steps(const Diagnosis& diagnosis) {
  const std::vector<Step>& known = diagnosis.cause->fix;
  std::vector<Step> steps;
  for (const Finding& finding : diagnosis.findings) {
    if (!is_among_steps(finding, diagnosis)) continue;
    for (const Step& step : finding.fix) {
      const bool is_new = std::find(known.begin(), known.end(), step) == known.end() &&
                          std::find(steps.begin(), steps.end(), step) == steps.end();
      if (is_new && !step.is_look()) steps.push_back(step);
    }
  }
  return steps;
}

std::vector<Step> joined_steps(const Diagnosis& diagnosis) {
  std::vector<Step> steps = diagnosis.cause->fix;
  for (const Step& step : added_steps(diagnosis)) insert_before_reboot(step, steps);
  return steps;
}

int exit_code(const Diagnosis& diagnosis) {
  if (diagnosis.verdict == Verdict::unknown) return 3;
  const bool wrong =
      diagnosis.cause ||
      std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(),
                  [](const Finding& finding) { return finding.severity != Severity::info; });
  return wrong ? 1 : 0;
}

}  // namespace headroom::findings
