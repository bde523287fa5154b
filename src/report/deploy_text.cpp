// SPDX-License-Identifier: Apache-2.0
// A deployment for the person at the terminal: what it would do, what it did, what is under way.
#include <fmt/format.h>

#include "report/deploy_report.h"
#include "report/step_text.h"
#include "report/utc_time.h"

namespace headroom::report {
namespace {

using deploy::DeployReport;
using deploy::GateCheck;
using deploy::Outcome;

std::string heading(const std::string& title, const Style& style) {
  return "\n" + style.bold(title) + "\n";
}

std::string gate_text(const deploy::Gate& gate, const Style& style) {
  if (gate.checks.empty()) return "";
  std::string text = heading("Gate", style);
  for (const GateCheck& check : gate.checks) {
    const std::string mark = check.answer == GateCheck::Answer::passed    ? "  ok       "
                             : check.answer == GateCheck::Answer::refused ? "  refused  "
                                                                          : "  unknown  ";
    text += fold(printable(check.name + ": " + check.says), mark, style.width);
  }
  return text;
}

std::string cause_text(const std::optional<findings::Cause>& cause, const std::string& why,
                       const Style& style) {
  if (!cause) return why.empty() ? "" : fold(printable(why), "  ", style.width);
  std::string text = fold(printable(cause->id + ": " + cause->title), "  ", style.width);
  for (const std::string& reason : cause->reasons)
    text += fold(printable(reason), "    - ", style.width);
  return text;
}

std::string steps_text(const std::string& title, const std::vector<findings::Step>& steps,
                       const Style& style) {
  if (steps.empty()) return "";
  std::string text = heading(title, style);
  for (const findings::Step& step : steps) {
    if (step.is_command()) {
      text += "  " + printable(step.text) +
              (step.remark.empty() ? "" : "   " + printable(step.remark)) + "\n";
    } else {
      text += fold(printable(step.text), "  - ", style.width);
    }
  }
  return text;
}

std::string verdict(const DeployReport& report, const Style& style) {
  switch (report.outcome) {
    case Outcome::committed:
      return style.green("committed") + ": the new configuration of " + printable(report.name) +
             " is kept\n";
    case Outcome::refused:
      return style.red("refused") + ": nothing was changed\n";
    case Outcome::planned:
      return style.green("would pass the gate") + ": nothing was changed\n";
    case Outcome::rolled_back:
    case Outcome::tried:
      break;
  }
  const bool restored = report.restored.value_or(false);
  return style.red("rolled back") + (restored
                                         ? ": the old configuration is back, and it is healthy\n"
                                         : ": the old configuration is NOT fully restored\n");
}

std::string times_text(const DeployReport& report) {
  std::string text;
  if (report.baseline_ms)
    text += fmt::format("  before      {:.1f} ms (median)\n", *report.baseline_ms);
  if (report.candidate_ms) text += fmt::format("  with it     {:.1f} ms\n", *report.candidate_ms);
  if (report.ratio) text += fmt::format("  ratio       {:.2f}\n", *report.ratio);
  if (report.downtime_s) text += fmt::format("  downtime    {:.1f} s\n", *report.downtime_s);
  return text;
}

std::string timeline_text(const std::vector<deploy::TimelineEntry>& timeline, deploy::Time began,
                          const Style& style) {
  std::string text = heading("Timeline", style);
  for (const deploy::TimelineEntry& entry : timeline) {
    const double after = static_cast<double>((entry.when - began).count()) / 1000;
    text += fold(printable(entry.event), fmt::format("  {:>8.1f} s  ", after), style.width);
  }
  return text;
}

// The last command is what to type next; what stands before it has to be done first.
std::string next_text(std::vector<findings::Step> steps, const Style& style) {
  std::string text;
  const bool has_command = !steps.empty() && steps.back().is_command();
  if (has_command) {
    const findings::Step& last = steps.back();
    text = "\n" + next_line(printable(last.text), printable(last.remark), style);
    steps.pop_back();
  }
  return steps_text("What to do", steps, style) + text;
}

std::string rest_of(const DeployReport& report, const Style& style) {
  std::string text;
  if (!report.warnings.empty()) text += heading("Good to know", style);
  for (const std::string& warning : report.warnings)
    text += fold(printable(warning), "  - ", style.width);
  text += steps_text("Still to be done by hand", report.left, style);
  return text + next_text(report.next, style);
}

}  // namespace

std::string to_text(const DeployReport& report, const plan::Change& change, const Style& style) {
  std::string text = verdict(report, style) + cause_text(report.cause, report.why, style);
  text += gate_text(report.gate, style) + heading("What --apply does", style);
  std::size_t number = 0;
  for (const plan::Step& step : change.steps) {
    text += (number > 0 ? "\n" : "") + step_text(step, number + 1, style);
    ++number;
  }
  return fit(text + rest_of(report, style), style.width);
}

std::string to_text(const DeployReport& report, const Style& style) {
  std::string text =
      verdict(report, style) + cause_text(report.cause, report.why, style) + times_text(report);
  if (report.outcome == Outcome::refused) text += gate_text(report.gate, style);
  text += timeline_text(report.timeline, report.began, style) + rest_of(report, style);
  if (!report.postmortem.empty()) text += "\nPost-mortem: " + printable(report.postmortem) + "\n";
  return fit(text, style.width);
}

std::string to_text(const deploy::Record& record, const Style& style) {
  const std::string state = record.outcome ? std::string(deploy::to_string(*record.outcome))
                                           : std::string(deploy::to_string(record.stage));
  std::string text = style.bold(printable(record.name)) + ": " + state + ", began " +
                     utc_time(record.began) + "\n";
  text += cause_text(record.cause, record.why, style);
  return fit(text + timeline_text(record.timeline, record.began, style), style.width);
}

}  // namespace headroom::report
