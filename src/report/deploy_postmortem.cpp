// SPDX-License-Identifier: Apache-2.0
// The post-mortem of a deployment, in Markdown: it writes itself, so that it is written.
#include <fmt/format.h>

#include "base/diff.h"
#include "base/printable.h"
#include "report/deploy_report.h"
#include "report/markdown.h"
#include "report/utc_time.h"

namespace headroom::report {
namespace {

using deploy::DeployReport;
using deploy::Outcome;

std::string result_of(const DeployReport& report) {
  switch (report.outcome) {
    case Outcome::committed:
      return "the new configuration was kept";
    case Outcome::rolled_back:
      return report.restored.value_or(false)
                 ? "the old configuration is back, and it is healthy"
                 : "the old configuration could not be fully restored; see below";
    case Outcome::refused:
      return "refused; nothing was changed";
    case Outcome::planned:
      return "only planned; nothing was changed";
    case Outcome::tried:
      return "only tried";
  }
  return "";
}

std::string summary(const DeployReport& report) {
  std::string text = "## Summary\n\n";
  if (report.cause) text += markdown_cell(report.cause->title) + ".\n\n";
  if (!report.cause && !report.why.empty()) text += markdown_cell(report.why) + ".\n\n";
  text += "- Service: " + markdown_cell(report.name) + "\n";
  text += "- Began: " + utc_time(report.began) + "\n";
  text += "- Result: " + result_of(report) + "\n";
  if (report.cause) {
    text += fmt::format("- Root cause: `{}`, {:.0f} % sure\n", report.cause->id,
                        report.cause->confidence * 100);
  }
  if (report.downtime_s) text += fmt::format("- Downtime: {:.1f} s\n", *report.downtime_s);
  if (report.baseline_ms)
    text += fmt::format("- Median time of a request before: {:.1f} ms\n", *report.baseline_ms);
  if (report.candidate_ms)
    text += fmt::format("- Median time of a request with the change: {:.1f} ms\n",
                        *report.candidate_ms);
  return text;
}

std::string timeline(const DeployReport& report) {
  std::string text = "\n## Timeline\n\nTimes are UTC.\n\n| time | after | what |\n|---|---|---|\n";
  for (const deploy::TimelineEntry& entry : report.timeline) {
    const double after = static_cast<double>((entry.when - report.began).count()) / 1000;
    text += fmt::format("| {} | {:.1f} s | {} |\n", utc_clock(entry.when), after,
                        markdown_cell(entry.event));
  }
  return text;
}

std::string root_cause(const DeployReport& report) {
  if (!report.cause) return "";
  std::string text = "\n## Root cause\n\n" + markdown_cell(report.cause->title) + ".\n\n";
  for (const std::string& reason : report.cause->reasons)
    text += "- " + markdown_cell(reason) + "\n";
  if (report.cause->evidence.empty()) return text;
  return text + "\n## Evidence\n\n" + markdown_evidence(report.cause->evidence);
}

// Indented, so that nothing in the files can end a fence.
std::string difference(const plan::Change& change) {
  std::string text;
  for (const plan::Step& step : change.steps) {
    const auto* edit = std::get_if<plan::FileEdit>(&step.action);
    if (edit == nullptr) continue;
    const std::string diff = unified_diff(edit->before.value_or(""), edit->after.value_or(""),
                                          edit->path, edit->path + " (new)");
    text += "\n    ";
    for (const char c : printable_lines(diff)) {
      text += c;
      if (c == '\n') text += "    ";
    }
    text += "\n";
  }
  return text;
}

std::string what_was_changed(const DeployReport& report, const plan::Change& change) {
  if (change.steps.empty()) return "";
  const bool back = report.outcome == Outcome::rolled_back;
  const std::string title = back                                   ? "What was rolled back"
                            : report.outcome == Outcome::committed ? "What was changed"
                                                                   : "What would have been changed";
  std::string text = "\n## " + title + "\n";
  if (!report.change_id.empty())
    text += "\nIts id in the journal is `" + printable(report.change_id) + "`.\n";
  return text + difference(change);
}

std::string what_to_do(const DeployReport& report) {
  std::string text;
  if (!report.left.empty()) {
    text += "\n## What you still have to do by hand\n\n" + markdown_steps(report.left);
  }
  if (!report.next.empty()) text += "\n## What to do next\n\n" + markdown_steps(report.next);
  if (report.warnings.empty()) return text;
  text += "\n## Good to know\n\n";
  for (const std::string& warning : report.warnings) text += "- " + markdown_cell(warning) + "\n";
  return text;
}

}  // namespace

std::string to_postmortem(const DeployReport& report, const plan::Change& change) {
  return printable_lines("# Deployment of " + markdown_cell(report.name) + ": " +
                         std::string(deploy::to_string(report.outcome)) + "\n\n" + summary(report) +
                         timeline(report) + root_cause(report) + what_was_changed(report, change) +
                         what_to_do(report));
}

}  // namespace headroom::report
