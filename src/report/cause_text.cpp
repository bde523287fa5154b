// SPDX-License-Identifier: Apache-2.0
#include "report/cause_text.h"

#include <fmt/format.h>

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
  for (const findings::Alternative& other : runners_up) {
    const std::string tell =
        other.would_tell.empty() ? "" : "; to find out: " + printable(other.would_tell);
    text += style.dim(fmt::format("  Could also be {} ({:.0f} %){}", other.id,
                                  other.confidence * 100, tell)) +
            "\n";
  }
  return text;
}

const findings::NextCommand* mending_command(const findings::Diagnosis& diagnosis) {
  if (!diagnosis.cause) return nullptr;
  for (const findings::Finding& finding : diagnosis.findings) {
    if (finding.next.mends() && finding.id == diagnosis.cause->id) return &finding.next;
  }
  return nullptr;
}

std::string verdict_line(Verdict verdict, const std::string& sentence, const Style& style) {
  return fold(sentence, painted_verdict(verdict, style) + ": ", style.width);
}

}  // namespace headroom::report
