// SPDX-License-Identifier: Apache-2.0
#include "report/cause_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/shell_quote.h"

namespace headroom::report {
namespace {

using findings::Verdict;

std::string painted_verdict(Verdict verdict, const Style& style) {
  const std::string word(to_string(verdict));
  switch (verdict) {
    case Verdict::ok:
      return style.green(word);
    case Verdict::limited:
      return style.yellow(word);
    case Verdict::broken:
    case Verdict::unsuitable:
      return style.red(word);
    default:
      return style.bold(word);
  }
}

}  // namespace

std::string evidence_text(const std::vector<findings::Evidence>& evidence, const Style& style) {
  std::string text;
  for (const findings::Evidence& one : evidence) {
    const std::string place =
        one.line > 0 ? fmt::format("{}:{}", one.source, one.line) : one.source;
    if (!one.meaning.empty()) text += "    " + printable(one.meaning) + "\n";
    const std::string seen = one.text.empty() ? "" : "  " + shorten(printable(one.text), 200);
    text += style.dim("      " + place + seen) + "\n";
  }
  return text;
}

std::string sentence_text(const findings::Step& step) {
  return printable(step.text) + (step.run.empty() ? "" : ":");
}

std::string command_line(const findings::Step& step) {
  return keep_whole(printable(step.run.empty() ? step.text : step.run)) +
         (step.remark.empty() ? "" : "   " + printable(step.remark));
}

std::string steps_text(const std::vector<findings::Step>& steps, const Style& style) {
  std::string text, looks;
  int number = 0;
  for (const findings::Step& step : steps) {
    if (step.is_look()) {
      looks += "      " + command_line(step) + "\n";
      continue;
    }
    const std::string head = fmt::format("  {:>2}. ", ++number);
    text += step.is_command() ? head + style.bold(command_line(step)) + "\n"
                              : fold(sentence_text(step), head, style.width);
    if (!step.run.empty()) {
      text += "      " + style.bold(command_line(step)) + "\n";
    }
  }
  return looks.empty() ? text : text + "  To see for yourself\n" + looks;
}

std::string cause_text(const findings::Cause& cause,
                       const std::vector<findings::Alternative>& runners_up, const Style& style) {
  std::string text = "\n" + style.bold("Root cause: " + cause.id) +
                     style.dim(fmt::format("  ({:.0f} % sure)", cause.confidence * 100)) + "\n";
  for (const std::string& reason : cause.reasons)
    text += fold(printable(reason), "  ", style.width);
  if (!cause.evidence.empty()) {
    text += "  " + style.bold("Evidence") + "\n" + evidence_text(cause.evidence, style);
  }
  if (!cause.against.empty()) {
    text += "  " + style.bold("Against it") + "\n" + evidence_text(cause.against, style);
  }
  double left = 100 - std::round(cause.confidence * 100);  // Rounded, they are still of a whole.
  for (const findings::Alternative& other : runners_up) {
    const std::string tell =
        other.would_tell.empty() ? "" : "; to find out: " + printable(other.would_tell);
    const double share = std::min(left, std::round(other.confidence * 100));
    left -= share;
    text += style.dim(fmt::format("  Could also be {} ({:.0f} %){}", other.id, share, tell)) + "\n";
  }
  return text;
}

const findings::NextCommand* mending_command(const findings::Diagnosis& diagnosis,
                                             std::string_view cause) {
  for (const findings::Finding& finding : diagnosis.findings) {
    if (finding.next.mends() && finding.id == cause) return &finding.next;
  }
  return nullptr;
}

std::string for_root(const std::string& command, const std::string& root) {
  if (root == "/") return command;
  const std::size_t end = std::min(command.find("   ("), command.size());
  return command.substr(0, end) + " --root " + printable(shell_quote(root)) + command.substr(end);
}

std::string mending_line(const findings::NextCommand& command, bool in_container,
                         const Style& style, const std::string& root) {
  const std::string text = for_root(command.text(), root);
  if (command.guides()) {
    return next_line(text, "(how to set up a PyTorch that has code for this GPU)", style);
  }
  if (command.runs()) {
    return next_line(command.text(), "(your command, with an allocator that does not fragment)",
                     style);
  }
  if (command.plans()) {
    return next_line(text, "(which settings fit; put in your model)", style);
  }
  if (!command.can_be_undone() && !in_container) {
    return next_line(text, "(who holds the memory, and the command that gets it back)", style);
  }
  if (in_container) {
    return command.can_be_undone() ? next_line(for_root("headroom check", root),
                                               "(when you are done on the host)", style)
                                   : next_line(text, "(what to type on the host)", style);
  }
  return next_line(text, "(shows what it would do here; --apply does it, and it can be undone)",
                   style);
}

namespace {

// Whether PyTorch's own wheels lack the code of every GPU here.
bool needs_own_wheels(const findings::Diagnosis& diagnosis) {
  const auto lacking =
      std::count_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                    [](const findings::Finding& one) { return one.id == "community-target"; });
  return lacking > 0 && static_cast<std::size_t>(lacking) == diagnosis.suitability.size();
}

// A container's settings are its host's to change.
const findings::NextCommand* warning_to_mend(const findings::Diagnosis& diagnosis,
                                             bool in_container) {
  for (const findings::Finding& one : diagnosis.findings) {
    if (in_container && one.next.can_be_undone()) continue;
    if (one.severity != findings::Severity::info && one.next.mends()) return &one.next;
  }
  return nullptr;
}

}  // namespace

bool lacks_stack(const findings::Diagnosis& diagnosis, const facts::Facts& facts) {
  return diagnosis.verdict == Verdict::ok && !facts.python.torch.version &&
         needs_own_wheels(diagnosis);
}

std::string next_without_cause(const findings::Diagnosis& diagnosis, const facts::Facts& facts,
                               const Style& style, const std::string& root) {
  const bool is_clear = diagnosis.verdict == Verdict::ok || diagnosis.verdict == Verdict::no_gpu;
  if (!is_clear) {
    return next_line(for_root("headroom check --verbose", root),
                     "(lists every fact, and why one is missing)", style);
  }
  if (diagnosis.verdict == Verdict::no_gpu || diagnosis.suitability.empty()) {
    return next_line("headroom plan --model Qwen/Qwen2.5-3B --method lora",
                     "(says how much memory a job needs; put in your model)", style);
  }
  const bool in_container = facts.machine.in_container();
  if (const findings::NextCommand* command = warning_to_mend(diagnosis, in_container)) {
    return mending_line(*command, in_container, style, root);
  }
  if (lacks_stack(diagnosis, facts)) {
    return mending_line(findings::NextCommand::stack(), in_container, style, root);
  }
  return next_line(for_root(findings::NextCommand::plan().text(), root),
                   "(says whether a job fits; put in your model)", style);
}

bool done_for_them(const findings::NextCommand* command) {
  return command != nullptr && !command->guides();
}

std::string next_after_cause(const findings::Diagnosis& diagnosis, const facts::Facts& facts,
                             const Style& style, const std::string& root) {
  const findings::NextCommand* command = mending_command(diagnosis, diagnosis.cause->id);
  if (command != nullptr) return mending_line(*command, facts.machine.in_container(), style, root);
  return diagnosis.verdict == Verdict::unsuitable
             ? next_line(for_root("headroom check --env FILE", root),
                         "(which lines of a service's file do not fit this machine)", style)
             : next_line(for_root("headroom check", root), "(when you are done)", style);
}

std::string verdict_line(Verdict verdict, const std::string& sentence, const Style& style) {
  return fold(sentence, painted_verdict(verdict, style) + ": ", style.width);
}

}  // namespace headroom::report
