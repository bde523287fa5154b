// SPDX-License-Identifier: Apache-2.0
// The post-mortem, in Markdown: what a person files after the trouble is over.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/cause_text.h"
#include "report/log_report.h"
#include "report/markdown.h"

namespace headroom::report {
namespace {

using findings::Event;
using findings::LogDiagnosis;

std::string summary(const LogDiagnosis& diagnosis, const findings::Scene& scene,
                    const LogExtent& extent) {
  const findings::Cause& cause = diagnosis.cause;
  std::string text = "## Summary\n\n" + markdown_cell(cause.title) + ".\n\n";
  text += fmt::format("- Root cause: `{}`, {:.0f} % sure\n", cause.id, cause.confidence * 100);
  const std::string machine = describe_scene(scene);
  if (!machine.empty()) text += "- Machine, as far as known: " + markdown_cell(machine) + "\n";
  text +=
      fmt::format("- Read: {} ({} lines)\n", markdown_cell(join(extent.names, ", ")), extent.lines);
  const auto times = [](const Event& event) { return !event.time.empty(); };
  const auto& events = diagnosis.timeline;
  const auto first = std::find_if(events.begin(), events.end(), times);
  const auto last = std::find_if(events.rbegin(), events.rend(), times);
  if (first != events.end()) {
    text += fmt::format("- From {} to {}\n", markdown_cell(first->time),
                        markdown_cell(last->last_time.empty() ? last->time : last->last_time));
  }
  return text;
}

std::string timeline(const LogDiagnosis& diagnosis) {
  if (diagnosis.timeline.empty()) return "";
  std::string text =
      "\n## Timeline\n\nTimes are as in the log.\n\n"
      "| time | from | what | where |\n|---|---|---|---|\n";
  for (const Event& event : diagnosis.timeline) {
    std::string what = markdown_cell(event.what);
    if (event.times > 1) {
      what +=
          fmt::format(" ({} times{})", event.times,
                      event.last_time.empty() ? "" : ", last " + markdown_cell(event.last_time));
    }
    text += fmt::format("| {} | {} | {} | {}:{} |\n", markdown_cell(event.time),
                        markdown_cell(event.origin), what, markdown_cell(event.log), event.line);
  }
  return text;
}

std::string root_cause(const LogDiagnosis& diagnosis) {
  std::string text = "\n## Root cause\n\n";
  for (const std::string& reason : diagnosis.cause.reasons) text += markdown_cell(reason) + "\n";
  if (diagnosis.cause.reasons.empty()) text += markdown_cell(diagnosis.cause.title) + ".\n";
  for (const findings::Consequence& one : diagnosis.consequences) {
    text += fmt::format("\nIt led to `{}`: {}.\n", one.id, markdown_cell(one.title));
  }
  if (diagnosis.failed_tensor) {
    const findings::FailedTensor& failed = *diagnosis.failed_tensor;
    for (const estimate::TensorMatch& one : failed.matches) {
      text += fmt::format("\nThe {} are the {}: {} ({}).\n", markdown_cell(failed.size),
                          markdown_cell(one.tensor), one.formula, one.dtype);
    }
  }
  if (diagnosis.growth && diagnosis.growth->is_growing()) {
    text += "\n" + markdown_cell(describe(*diagnosis.growth)) + "\n";
  }
  text += "\n## Evidence\n\n";
  text += markdown_evidence(diagnosis.cause.evidence);
  if (!diagnosis.runners_up.empty()) {
    text += "\n## What else it could be\n\n";
    for (const findings::Alternative& one : diagnosis.runners_up) {
      text += fmt::format("- `{}` ({:.0f} %)", one.id, one.confidence * 100);
      text +=
          one.would_tell.empty() ? "\n" : "; to find out: `" + printable(one.would_tell) + "`\n";
    }
  }
  return text;
}

std::string what_to_change(const LogDiagnosis& diagnosis) {
  return "\n## What to change\n\n" + markdown_steps(diagnosis.cause.fix);
}

}  // namespace

std::string to_postmortem(const LogDiagnosis& diagnosis, const findings::Scene& scene,
                          const LogExtent& extent) {
  return printable_lines(fmt::format("# Post-mortem: {}\n\n", diagnosis.cause.id) +
                         summary(diagnosis, scene, extent) + timeline(diagnosis) +
                         root_cause(diagnosis) + what_to_change(diagnosis));
}

}  // namespace headroom::report
