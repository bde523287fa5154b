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

namespace {

// "sudo dmesg   (says why)" without what stands in parentheses.
std::string_view before_remark(std::string_view step) {
  return step.substr(0, step.find("   ("));
}

// "headroom plan, for what the job needs" begins as a command and is a sentence.
bool is_prose(std::string_view step) {
  return step.starts_with("headroom ") && before_remark(step).find(", ") != std::string_view::npos;
}

}  // namespace

bool is_command(const std::string& step) {
  for (const char* start : {"sudo ", "scancel ", "headroom ", "pip ", "echo ", "python3 ",
                            "export ", "HSA_", "kill ", "on the host: sudo", "on the host: echo"}) {
    if (step.starts_with(start)) return !is_prose(step);
  }
  return false;
}

std::string command_line(const std::string& step) {
  const std::string command(before_remark(step));
  return keep_whole(printable(command)) + printable(step.substr(command.size()));
}

std::string steps_text(const std::vector<std::string>& steps, const Style& style) {
  std::string text;
  int number = 0;
  for (const std::string& step : steps) {
    const std::string head = fmt::format("  {:>2}. ", ++number);
    text += is_command(step) ? head + style.bold(command_line(step)) + "\n"
                             : fold(printable(step), head, style.width);
  }
  return text;
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
  for (const findings::Alternative& other : runners_up) {
    const std::string tell =
        other.would_tell.empty() ? "" : "; to tell: " + printable(other.would_tell);
    text += style.dim(fmt::format("  Could also be {} ({:.0f} %){}", other.id,
                                  other.confidence * 100, tell)) +
            "\n";
  }
  return text;
}

std::string verdict_line(Verdict verdict, const std::string& sentence, const Style& style) {
  return fold(sentence, painted_verdict(verdict, style) + ": ", style.width);
}

}  // namespace headroom::report
