// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/conclusions.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <set>

#include "base/require.h"
#include "base/text.h"
#include "findings/causes/access.h"
#include "findings/causes/backends_listed.h"
#include "findings/causes/collective_signs.h"
#include "findings/causes/contradiction.h"
#include "findings/causes/missing_evidence.h"
#include "findings/causes/notices.h"
#include "findings/causes/recovery.h"
#include "findings/causes/step_figures.h"
#include "findings/causes/told_topics.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using knowledge::Role;
using logs::Observation;

// Adds the first line of each kind, up to `most`; none that the hypothesis shows already.
void add_evidence(const LogSubject& subject, Role role, std::size_t most, Hypothesis& hypothesis) {
  std::vector<const Observation*> shown;
  for (const Observation& one : subject.log.all()) {
    if (one.signature->role != role || shown.size() >= most) continue;
    const auto same = [&](const Observation* other) {
      return other->id() == one.id() || (other->log == one.log && other->line == one.line);
    };
    if (rests_on(hypothesis, one) || std::any_of(shown.begin(), shown.end(), same)) continue;
    shown.push_back(&one);
    hypothesis.evidence.push_back(show(subject, one, logs::describe(one)));
  }
}

// Whether the log is a listing of GPUs or of memory, or a benchmark's table, and nobody tells of
// trouble in it.
bool is_plain_listing(const logs::Observations& log) {
  if (log.seen("trouble-words") || log.first_with(Role::hint) != nullptr) return false;
  return log.any_of({"agent-name", "smi-finished", "smi-meminfo", "amd-smi-used", "mem-info-file",
                     "gtt-ready", "torch-sees-gpu", "said-to-work", "ollama-gpu-accepted"});
}

// Goes by the best sign: the end of the work, work, or a server's start. Harmless lines alone are
// weaker; several kinds of them look like a normal boot or start.
double sure_of_health(const logs::Observations& log) {
  if (did_its_work(log)) return 0.9;
  if (log.any_of({"training-step", "request-served", "prompt-executed"})) return 0.8;
  if (log.first_with(Role::progress) != nullptr || steady_at_steps(log) != nullptr) return 0.6;
  if (is_plain_listing(log) && log.first_with(Role::noise) == nullptr) return 0.5;
  std::set<std::string_view> kinds;
  for (const Observation& one : log.all()) {
    if (one.signature->role == Role::noise) kinds.insert(one.id());
  }
  constexpr std::size_t several = 3;
  return kinds.size() >= several ? 0.7 : 0.55;
}

const Observation* first_made_up_for(const LogSubject& subject) {
  for (const Observation& one : subject.log.all()) {
    if (one.id() == "traceback" || !is_failure(subject.log, one)) continue;
    if (is_made_up_for(subject.log, one)) return &one;
  }
  return nullptr;
}

// Whether the last sign of work is that a model is being loaded, which may take minutes, or hang.
bool ends_in_loading(const logs::Observations& log) {
  const Observation* begun = log.last("model-load-begun");
  if (begun == nullptr) return false;
  return std::none_of(log.all().begin(), log.all().end(), [&](const Observation& one) {
    const bool later = std::pair(one.log, one.line) > std::pair(begun->log, begun->line);
    return later && (one.signature->role == Role::progress || one.id() == "immich-idle");
  });
}

}  // namespace

// Whether the job did some of its work: it says so, or prints at its steps that it needs no more.
bool shows_work(const logs::Observations& log) {
  return log.first_with(Role::progress) != nullptr || did_its_work(log) ||
         steady_at_steps(log) != nullptr;
}

// Whether the card's window found no place at first, and the driver came up with another one.
bool found_another_window(const logs::Observations& log) {
  return log.seen("bar-unassigned") && log.seen("bar-assigned") && log.seen("amdgpu-initialized");
}

// The line that says that it works all the same, of somebody who tells of no trouble besides.
const Observation* said_to_do_no_harm(const logs::Observations& log) {
  std::vector<const Observation*> said = log.of("said-to-do-no-harm");
  // That it comes to its end says so where harmless lines are what the report shows.
  const auto finished = log.of("said-to-finish");
  const bool shows_noise = log.first_with(Role::noise) != nullptr;
  if (shows_noise) said.insert(said.end(), finished.begin(), finished.end());
  for (const Observation* one : said) {
    const std::string text = to_lower(one->text);
    const auto has = [&](std::string_view word) { return text.find(word) != std::string::npos; };
    const bool limited = has("but ") || has("only") || has("until") || has("except") ||
                         has(" if ") || has("older") || has("previous");
    const auto tales = log.of("told-outcome");
    const bool compared = std::any_of(tales.begin(), tales.end(), [&](const Observation* tale) {
      return tale->log != one->log || tale->line != one->line;
    });
    if (!limited && !compared) return one;
  }
  return nullptr;
}

// MIOpen and Triton compile and choose kernels for each new shape, which takes minutes. Whoever
// says that it is slow at first, that the next is quick, and that there is no error, tells of that.
const Observation* said_to_warm_up(const logs::Observations& log) {
  const Observation* slow = log.first("said-slow-at-first");
  if (slow == nullptr || log.first_with(Role::failure) != nullptr) return nullptr;
  static const RE2 quick(
      R"((?i)\b(?:second|next|again|afterwards?|then|later|same (?:size|resolution)).{0,40}\b(?:is |are |it.s |was |runs |goes )?(?:fast|quick|fine|normal|instant|(?:takes?|took|in|only) (?:\w+ )?\d+(?:\.\d+)? ?s(?:ec\w*)?\b))");
  static const RE2 slow_for_ever(
      R"((?i)\b(?:every|each) (?:time|run|start|single)\b|\balways slow)");
  const auto& all = log.all();
  const auto has = [&](const RE2& words) {
    return std::any_of(all.begin(), all.end(),
                       [&](const Observation& one) { return RE2::PartialMatch(one.text, words); });
  };
  return has(quick) && !has(slow_for_ever) ? slow : nullptr;
}

bool is_healthy(const LogSubject& subject) {
  if (said_to_warm_up(subject.log) != nullptr) return true;
  if (standing_failure(subject.log) != nullptr) return false;
  // A person who ends a job, or writes a remark into its log, had a reason.
  if (subject.log.seen("said-to-hang") || is_at_work(subject.log)) return false;
  if (test_without_result(subject.log) != nullptr || chose_cpu(subject) != nullptr) return false;
  if (torch_sees_none(subject) != nullptr && !did_its_work(subject.log)) return false;
  // The machine went down; what the job did before tells nothing of that.
  if (subject.log.any_of({"said-to-freeze", "said-to-switch-off"}) || ends_in_loading(subject.log))
    return false;
  if (subject.log.seen("interrupted") && !did_its_work(subject.log)) return false;
  // Harmless lines alone do not clear a report of trouble.
  const bool works = shows_work(subject.log);
  const bool only_noise = !works;
  const bool asks = asks_about_a_notice(subject.log) != nullptr;
  if (only_noise && !asks && said_to_do_no_harm(subject.log) == nullptr &&
      tells_of_trouble(subject.log)) {
    return false;
  }
  return works || said_to_do_no_harm(subject.log) != nullptr || found_another_window(subject.log) ||
         subject.log.first_with(Role::noise) != nullptr || is_plain_listing(subject.log) ||
         (subject.log.seen("firmware-load-failed") && subject.log.seen("amdgpu-initialized"));
}

Hypothesis conclude_healthy(const LogSubject& subject) {
  Hypothesis healthy;
  const bool works = shows_work(subject.log);
  const Observation* made_up = first_made_up_for(subject);
  const Observation* listed = subject.log.first_of(
      {"said-to-work", "agent-name", "smi-finished", "mem-info-file", "gtt-ready"});
  healthy.confidence = sure_of_health(subject.log);
  // A person who complains of work that was done may mean how it was done.
  constexpr double beside_a_complaint = 0.75;
  if (tells_of_trouble(subject.log)) {
    healthy.confidence = std::min(healthy.confidence, beside_a_complaint);
  }
  healthy.title = "Nothing failed here";
  if (works)
    healthy.reasons.emplace_back("The job did its work, and no failure remains at its end.");
  if (subject.log.seen("firmware-load-failed") && subject.log.seen("amdgpu-initialized")) {
    healthy.reasons.emplace_back(
        "A firmware file is missing, but the driver started without it: the file is optional.");
  }
  if (found_another_window(subject.log)) {
    healthy.reasons.emplace_back(
        "The card's memory window got no address space at first. It was placed elsewhere, and the "
        "driver started.");
    healthy.evidence.push_back(show(subject, *subject.log.first("bar-assigned")));
  }
  if (const Observation* said = said_to_do_no_harm(subject.log)) {
    healthy.reasons.emplace_back("The author says that it works anyway.");
    healthy.evidence.push_back(show(subject, *said));
  }
  if (const Observation* slow = said_to_warm_up(subject.log)) {
    healthy.confidence = std::min(healthy.confidence, confidence::possible);
    healthy.reasons.emplace_back(
        "At each new shape of data MIOpen looks for its fastest kernel and compiles it, once.");
    healthy.evidence.push_back(show(subject, *slow));
  }
  if (asks_about_a_notice(subject.log) != nullptr && !works) {
    healthy.confidence = std::min(healthy.confidence, 0.55);
    healthy.reasons.emplace_back(
        "The line that the report is about is a notice. Nothing else is said to fail.");
  }
  if (subject.log.first_with(Role::noise) != nullptr) {
    healthy.reasons.emplace_back("The lines that look like errors are known to be harmless.");
  }
  if (const Observation* asked = computed_on_gpu(subject.log)) {
    healthy.evidence.push_back(show(subject, *asked, "the GPU computed what this asks for"));
  }
  if (is_reached_in_wsl(subject.log)) {
    healthy.reasons.emplace_back(
        "WSL reaches the GPU through /dev/dxg. /dev/kfd, the module amdgpu and the SMI tools are "
        "never there.");
  }
  if (const Observation* steady = steady_at_steps(subject.log)) {
    healthy.evidence.push_back(show(subject, *steady, "the memory is the same at every step"));
  }
  add_evidence(subject, Role::progress, 3, healthy);
  add_evidence(subject, Role::noise, 6, healthy);
  if (healthy.evidence.empty() && listed != nullptr) {
    healthy.reasons.emplace_back(
        "The text lists what is there, and nothing in it reports an error. If there was one, its "
        "lines are not in this text.");
    healthy.evidence.push_back(show(subject, *listed, logs::describe(*listed)));
  }
  if (made_up != nullptr) {
    healthy.confidence -= 0.2;
    healthy.reasons.emplace_back("Something failed at first, and the run continued without it.");
    healthy.evidence.push_back(show(subject, *made_up, "failed, and the run continued without it"));
  }
  healthy.fix.push_back(sentence("There is nothing to fix."));
  return healthy;
}

Hypothesis conclude_not_amd(const LogSubject& subject) {
  const facts::Fact<Vendor>& vendor = subject.scene.vendor;
  require(vendor.known() && *vendor != Vendor::amd, "the vendor is known and is not AMD");
  Hypothesis other;
  // Words of AMD's software in the log contradict what was said about the machine.
  other.confidence = subject.log.seen("amd-words") ? 0.75 : 0.9;
  for (const char* id : {"cuda-worded", "cuda-build"}) {
    const Observation* worded = subject.log.first(id);
    if (worded == nullptr) continue;
    // Only the wording of the failure, or the build in use, tells whose GPU it is.
    const bool alone = vendor.source().line == static_cast<int>(worded->line);
    if (alone) other.confidence = 0.4;
  }
  other.title = *vendor == Vendor::none
                    ? "No GPU is involved"
                    : fmt::format("This is about a GPU from {}, not from AMD", to_string(*vendor));
  other.reasons.emplace_back(
      "The lines show none of the causes that occur with every vendor's GPU, and those of AMD's "
      "driver and libraries cannot apply here.");
  other.evidence.push_back(show(vendor, "the GPU's vendor"));
  add_evidence(subject, Role::failure, 4, other);
  if (*vendor == Vendor::nvidia) {
    other.fix.push_back(
        sentence("To see NVIDIA's messages: nvidia-smi; sudo dmesg -T | grep -iE 'NVRM|Xid'"));
  }
  other.fix.push_back(
      command("headroom supports AMD GPUs only. Its advice does not apply to this machine."));
  return other;
}

Hypothesis conclude_insufficient(const LogSubject& subject, double best_guess) {
  Hypothesis unknown;
  const Observation* last = standing_failure(subject.log);
  MissingEvidence missing = find_missing_evidence(subject, last);
  // A line that no rule knows may be clear to a person who reads it: of 20 such answers on logs
  // that no rule had seen, two were right.
  const bool vague = last != nullptr && is_vague(*last);
  const double own = last == nullptr || vague ? 0.35 : 0.45;
  unknown.confidence = own * (1 - best_guess / 2);
  unknown.title = subject.log.seen("said-to-hang") ? "It hangs without saying why"
                  : last != nullptr                ? "The log ends without saying why"
                  : is_at_work(subject.log)        ? "The log ends while the job is still running"
                                            : "The log contains nothing that points to a cause";
  unknown.reasons = std::move(missing.reasons);
  if (last != nullptr) unknown.evidence.push_back(show(subject, *last, logs::describe(*last)));
  add_evidence(subject, Role::failure, 3, unknown);
  add_evidence(subject, Role::consequence, 5, unknown);
  if (unknown.evidence.empty()) {
    unknown.evidence.push_back(
        {join(subject.log_names, ", "), 0, "", "headroom knows none of its lines as a failure"});
  }
  unknown.fix = sentences(missing.commands);
  return unknown;
}

}  // namespace headroom::findings
