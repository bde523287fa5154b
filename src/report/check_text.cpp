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
#include "report/suitability_report.h"

namespace headroom::report {
namespace {

using findings::Diagnosis;
using findings::Severity;
using findings::Verdict;

std::string list_others(const facts::Facts& facts) {
  std::vector<std::string> names;
  for (const facts::OtherGpu& gpu : facts.other_gpus) names.push_back(printable(gpu.name));
  return join(names, ", ");
}

// "2 x AMD Instinct MI300X can use 191.98 GiB each": of the GPUs that compute can reach.
std::string list_capacities(const facts::Facts& facts) {
  std::vector<std::pair<std::string, int>> parts;
  const bool any_kfd = std::any_of(facts.gpus.begin(), facts.gpus.end(),
                                   [](const facts::Gpu& gpu) { return gpu.kfd_id.known(); });
  for (const facts::Gpu& gpu : facts.gpus) {
    const facts::Rung* binding = gpu.ladder.binding();
    if (binding == nullptr || (any_kfd && !gpu.kfd_id)) continue;
    const std::string part =
        fmt::format("{} can use {}", printable(gpu.name), to_string(*binding->limit));
    if (parts.empty() || parts.back().first != part) parts.emplace_back(part, 0);
    ++parts.back().second;
  }
  std::vector<std::string> sentences;
  for (const auto& [part, count] : parts) {
    sentences.push_back(count == 1 ? part : fmt::format("{} x {} each", count, part));
  }
  return sentences.empty() ? "no problem was found" : join(sentences, "; ");
}

std::string unknown_summary(const facts::Facts& facts) {
  if (facts.wsl.is_wsl())
    return "WSL: headroom could not check the whole way to the GPU from inside";
  if (facts.gpus.empty()) return "headroom could not see whether there is a GPU";
  const bool any_limit = std::any_of(facts.gpus.begin(), facts.gpus.end(), [](const auto& gpu) {
    return gpu.ladder.binding() != nullptr;
  });
  return any_limit ? "the facts that it takes could not be read"
                   : "the GPU's memory could not be read";
}

// One sentence: what the verdict means here.

std::string summary(const facts::Facts& facts, const Diagnosis& diagnosis) {
  if (diagnosis.cause) return printable(diagnosis.cause->title);
  switch (diagnosis.verdict) {
    case Verdict::no_gpu:
      return facts.other_gpus.empty()
                 ? "no GPU here; jobs run on the CPU"
                 : "no AMD GPU here (" + list_others(facts) + "); headroom supports AMD GPUs only";
    case Verdict::unknown:
      return unknown_summary(facts);
    default:
      break;
  }
  if (facts.wsl.is_wsl() && facts.gpus.empty()) {
    return "WSL: everything that jobs need to reach the GPU is there";
  }
  return list_capacities(facts);
}

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

std::string findings_text(const Diagnosis& diagnosis, const Style& style) {
  std::string text;
  std::vector<std::string> said;  // The same of several GPUs is said once.
  for (const findings::Finding& finding : diagnosis.findings) {
    const bool is_cause = diagnosis.cause && finding.claim && finding.id == diagnosis.cause->id;
    const bool again = std::find(said.begin(), said.end(), finding.title) != said.end();
    if (is_cause || again) continue;
    said.push_back(finding.title);
    text += "  " + titled_finding(finding, style);
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
      text += ladder_table(gpu, detail, style);
      text += holders_table(gpu, style);
    } else {
      text += style.dim("  as above") + "\n";
    }
    before = &gpu;
  }
  return text;
}

// Returns the cause's steps and the command of headroom that helps with them.
std::string what_to_do(const facts::Facts& facts, const Diagnosis& diagnosis, const Style& style) {
  std::string text;
  if (!diagnosis.cause->fix.empty()) {
    text = "\n" + style.bold("What to do") + "\n" + steps_text(diagnosis.cause->fix, style);
  }
  const findings::NextCommand* command = mending_command(diagnosis);
  if (command == nullptr) {
    return text + "\n" +
           (diagnosis.verdict == Verdict::unsuitable
                ? next_line("headroom check --env FILE",
                            "(which lines of a service's file do not fit this machine)", style)
                : next_line("headroom check", "(when you are done)", style));
  }
  // In a container `fix` changes nothing; `reclaim` prints what to type on the host.
  if (facts.machine.container) {
    return text + "\n" +
           (command->can_be_undone()
                ? next_line("headroom check", "(when you are done on the host)", style)
                : next_line(command->text(), "(what to type on the host)", style));
  }
  const std::string_view more = command->can_be_undone() ? ", and it can be undone" : "";
  return text + "\n" +
         next_line(command->text(),
                   fmt::format("(shows what it would do here; --apply does it{})", more), style);
}

std::string next_text(const facts::Facts& facts, const Diagnosis& diagnosis, const Style& style) {
  if (diagnosis.cause) return what_to_do(facts, diagnosis, style);
  return "\n" + next_without_cause(diagnosis, facts.python.torch.version.known(), style);
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
                    const Style& style, const std::string& services) {
  std::string text = verdict_line(diagnosis.verdict, summary(facts, diagnosis), style);
  if (detail == Detail::quiet) return fit(text, style.width);
  const std::string machine = machine_line(facts.machine);
  if (!machine.empty()) text += style.dim(machine) + "\n";
  if (diagnosis.cause) text += cause_text(*diagnosis.cause, diagnosis.runners_up, style);
  text += gpus_text(facts, diagnosis, detail, style);
  text += peers_table(facts, style);
  text += findings_text(diagnosis, style) + services;
  if (detail == Detail::verbose) {
    text += "\n" + style.bold("Facts") + "\n" + to_text(list_facts(facts), style);
  }
  return fit(text + next_text(facts, diagnosis, style), style.width);
}

}  // namespace headroom::report
