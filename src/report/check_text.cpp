// SPDX-License-Identifier: Apache-2.0
#include "report/check_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/cause_text.h"
#include "report/fact_list.h"
#include "report/holders_text.h"
#include "report/ladder_text.h"
#include "report/links_text.h"
#include "report/machine_summary.h"
#include "report/suitability_report.h"

namespace headroom::report {
namespace {

using findings::Diagnosis;
using findings::Severity;
using findings::Verdict;

std::string titled_finding(const findings::Finding& finding, const Style& style) {
  std::string_view word = "note";
  if (finding.severity == Severity::warning) word = "warning";
  if (finding.severity == Severity::error) word = "error";
  std::string mark = style.dim(word);
  if (finding.severity == Severity::warning) mark = style.yellow(word);
  if (finding.severity == Severity::error) mark = style.red(word);
  std::string text = fold(printable(finding.title), mark + ": ", style.width - 2);
  for (std::size_t at = text.find('\n'); at + 1 < text.size(); at = text.find('\n', at + 1)) {
    text.insert(at + 1, "  ");
  }
  return text;
}

std::string findings_text(const facts::Facts& facts, const Diagnosis& diagnosis, const Style& style,
                          const std::string& root) {
  std::string text;
  std::vector<std::string> said;  // The same of several GPUs is said once.
  std::vector<const std::vector<findings::Step>*> told;
  const auto* next = diagnosis.cause ? mending_command(diagnosis, diagnosis.cause->id) : nullptr;
  for (const findings::Finding& finding : diagnosis.findings) {
    const bool is_cause = diagnosis.cause && finding.claim && finding.id == diagnosis.cause->id;
    const bool again = std::find(said.begin(), said.end(), finding.title) != said.end();
    if (is_cause || again) continue;
    said.push_back(finding.title);
    text += "  " + titled_finding(finding, style);
    if (is_among_steps(finding, diagnosis) || finding.fix.empty()) continue;
    if (finding.next.can_be_undone() && !facts.machine.in_container()) {
      const bool is_next = next != nullptr && next->text() == finding.next.text();
      text += is_next ? style.dim("      Next mends this too") + "\n"
                      : "      " + keep_whole(for_root(finding.next.text(), root)) + "\n";
      continue;
    }
    const bool is_told = std::any_of(told.begin(), told.end(),
                                     [&](const auto* steps) { return *steps == finding.fix; });
    if (is_told) {
      text += style.dim("      the steps above") + "\n";
      continue;
    }
    told.push_back(&finding.fix);
    for (const findings::Step& step : finding.fix) {
      if (step.is_look()) continue;
      text += step.is_command() ? "      " + command_line(step) + "\n"
                                : fold(sentence_text(step), "      ", style.width);
      if (!step.run.empty()) text += "        " + command_line(step) + "\n";
    }
  }
  return text.empty() ? "" : "\n" + style.bold("Also found") + "\n" + text;
}

// GPUs of a kind with the same ladder are shown once: eight of them say no more than one.
bool same_picture(const facts::Gpu& a, const facts::Gpu& b) {
  if (!a.holders.empty() || !b.holders.empty() || a.name != b.name) return false;
  for (std::size_t i = 0; i < a.ladder.rungs.size(); ++i) {
    if (a.ladder.rungs[i].limit.optional() != b.ladder.rungs[i].limit.optional()) return false;
  }
  return true;
}

std::string gpus_text(const facts::Facts& facts, const Diagnosis& diagnosis, Detail detail,
                      const Style& style) {
  std::string text;
  const facts::Gpu* before = nullptr;
  for (const facts::Gpu& gpu : facts.gpus) {
    text += before != nullptr && same_picture(*before, gpu) ? "" : "\n";
    text += gpu_heading(gpu, style);
    if (before == nullptr || !same_picture(*before, gpu)) {
      const auto index = static_cast<std::size_t>(&gpu - facts.gpus.data());
      const bool assessed =
          index < diagnosis.suitability.size() && diagnosis.suitability[index].has_value();
      if (assessed) text += suitability_lines(*diagnosis.suitability[index], style);
      // How much memory it has does not matter where no program can compute on it.
      const bool is_unusable = diagnosis.verdict == Verdict::unsuitable && assessed &&
                               diagnosis.suitability[index]->route == findings::StackRoute::none;
      if (!is_unusable || detail == Detail::verbose) {
        text += ladder_table(gpu, detail, style) + holders_table(gpu, style);
      }
    } else {
      text += style.dim("  as above") + "\n";
    }
    before = &gpu;
  }
  return text;
}

// Whether the command does the steps on this machine, so that who types them by hand asks for them.
bool does_the_steps(const findings::NextCommand* command) {
  return done_for_them(command) && !command->runs() && !command->plans();
}

// Returns the cause's steps and the command of headroom that helps with them.
std::string what_to_do(const facts::Facts& facts, const Diagnosis& diagnosis, Detail detail,
                       const Style& style, const std::string& root) {
  const auto* command = mending_command(diagnosis, diagnosis.cause->id);
  const auto titled = [&](const std::string& title, const std::vector<findings::Step>& steps) {
    return steps.empty() ? "" : "\n" + style.bold(title) + "\n" + steps_text(steps, style);
  };
  std::string text;
  if (done_for_them(command)) {
    const std::vector<findings::Step> first = added_steps(diagnosis);
    text = titled("What to do first, by hand (Next does not do it)", first);
    if (does_the_steps(command) && detail != Detail::verbose) {
      text += style.dim("\nTo do it by hand instead: " +
                        keep_whole(for_root("headroom check --verbose", root))) +
              "\n";
    } else {
      text += titled(first.empty() ? "What to do by hand, instead of Next"
                                   : "What to do then by hand, instead of Next",
                     diagnosis.cause->fix);
    }
  } else if (!diagnosis.cause->fix.empty()) {
    text = titled("What to do", joined_steps(diagnosis));
  }
  return text + "\n" + next_after_cause(diagnosis, facts, style, root);
}

std::string next_text(const facts::Facts& facts, const Diagnosis& diagnosis, Detail detail,
                      const Style& style, const std::string& root) {
  if (diagnosis.cause) return what_to_do(facts, diagnosis, detail, style, root);
  return "\n" + next_without_cause(diagnosis, facts, style, root);
}

std::string machine_line(const facts::MachineFacts& machine) {
  std::vector<std::string> parts;
  if (machine.distribution) parts.push_back(printable(*machine.distribution));
  if (machine.kernel) parts.push_back("Linux " + printable(*machine.kernel));
  if (machine.memory.total) parts.push_back(to_string(*machine.memory.total) + " RAM");
  if (machine.container) parts.push_back("in a " + printable(*machine.container) + " container");
  if (!machine.live) parts.emplace_back("captured");
  return join(parts, ", ");
}

}  // namespace

std::string to_text(const facts::Facts& facts, const Diagnosis& diagnosis, Detail detail,
                    const Style& style, const AroundCheck& around) {
  const std::string sentence = machine_summary(facts, diagnosis);
  if (detail == Detail::quiet) {
    return fit(
        verdict_line(diagnosis.verdict,
                     sentence + also_needed(diagnosis) + count_of_warnings(diagnosis), style),
        style.width);
  }
  std::string text = verdict_line(diagnosis.verdict, sentence + also_needed(diagnosis), style);
  const std::string machine = machine_line(facts.machine);
  if (!machine.empty()) text += style.dim(machine) + "\n";
  if (diagnosis.cause) text += cause_text(*diagnosis.cause, diagnosis.runners_up, style);
  text += gpus_text(facts, diagnosis, detail, style);
  text += peers_table(facts, style);
  text += findings_text(facts, diagnosis, style, around.root) + around.services;
  if (detail == Detail::verbose) {
    text += "\n" + style.bold("Facts") + "\n" + to_text(list_facts(facts), style);
  }
  return fit(text + next_text(facts, diagnosis, detail, style, around.root), style.width);
}

}  // namespace headroom::report
