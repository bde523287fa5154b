// SPDX-License-Identifier: Apache-2.0
// The post-mortem, in Markdown: what a person files after the trouble is over.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/cause_text.h"
#include "report/log_report.h"

namespace headroom::report {
namespace {

using findings::Event;
using findings::LogDiagnosis;

// A log's own characters must not become Markdown.
std::string cell(std::string_view text) {
  std::string safe;
  for (const char c : shorten(printable(text), 160)) {
    if (c == '|' || c == '`' || c == '<' || c == '*' || c == '_') safe.push_back('\\');
    safe.push_back(c);
  }
  return safe;
}

std::string summary(const LogDiagnosis& diagnosis, const findings::Scene& scene,
                    const LogExtent& extent) {
  const findings::Cause& cause = diagnosis.cause;
  std::string text = "## Summary\n\n" + cell(cause.title) + ".\n\n";
  text += fmt::format("- Root cause: `{}`, {:.0f} % sure\n", cause.id, cause.confidence * 100);
  const std::string machine = describe_scene(scene);
  if (!machine.empty()) text += "- Machine, as far as is known: " + cell(machine) + "\n";
  text += fmt::format("- Read: {} ({} lines)\n", cell(join(extent.names, ", ")), extent.lines);
  const auto times = [](const Event& event) { return !event.time.empty(); };
  const auto& events = diagnosis.timeline;
  const auto first = std::find_if(events.begin(), events.end(), times);
  const auto last = std::find_if(events.rbegin(), events.rend(), times);
  if (first != events.end()) {
    text += fmt::format("- From {} to {}\n", cell(first->time),
                        cell(last->last_time.empty() ? last->time : last->last_time));
  }
  return text;
}

std::string timeline(const LogDiagnosis& diagnosis) {
  if (diagnosis.timeline.empty()) return "";
  std::string text =
      "\n## Timeline\n\nTimes are the log's own.\n\n"
      "| time | from | what | where |\n|---|---|---|---|\n";
  for (const Event& event : diagnosis.timeline) {
    std::string what = cell(event.what);
    if (event.times > 1) {
      what += fmt::format(" ({} times{})", event.times,
                          event.last_time.empty() ? "" : ", last " + cell(event.last_time));
    }
    text += fmt::format("| {} | {} | {} | {}:{} |\n", cell(event.time), cell(event.origin), what,
                        cell(event.log), event.line);
  }
  return text;
}

std::string root_cause(const LogDiagnosis& diagnosis) {
  std::string text = "\n## Root cause\n\n";
  for (const std::string& reason : diagnosis.cause.reasons) text += cell(reason) + "\n";
  if (diagnosis.cause.reasons.empty()) text += cell(diagnosis.cause.title) + ".\n";
  for (const findings::Consequence& one : diagnosis.consequences) {
    text += fmt::format("\nIt brought about `{}`: {}.\n", one.id, cell(one.title));
  }
  if (diagnosis.failed_tensor) {
    const findings::FailedTensor& failed = *diagnosis.failed_tensor;
    for (const estimate::TensorMatch& one : failed.matches) {
      text += fmt::format("\nThe {} are the {}: {} ({}).\n", cell(failed.size), cell(one.tensor),
                          one.formula, one.dtype);
    }
  }
  text += "\n## Evidence\n\n";
  for (const findings::Evidence& one : diagnosis.cause.evidence) {
    const std::string place =
        one.line > 0 ? fmt::format("{}:{}", one.source, one.line) : one.source;
    text += "- " + (one.meaning.empty() ? "" : cell(one.meaning) + ", ") + cell(place) + "\n";
    if (!one.text.empty()) text += "\n      " + shorten(printable(one.text), 300) + "\n\n";
  }
  if (!diagnosis.runners_up.empty()) {
    text += "\n## What else it could be\n\n";
    for (const findings::Alternative& one : diagnosis.runners_up) {
      text += fmt::format("- `{}` ({:.0f} %)", one.id, one.confidence * 100);
      text += one.would_tell.empty() ? "\n" : "; to tell: `" + printable(one.would_tell) + "`\n";
    }
  }
  return text;
}

std::string what_to_change(const LogDiagnosis& diagnosis) {
  std::string text = "\n## What to change\n\n";
  int number = 0;
  for (const findings::Step& step : diagnosis.cause.fix) {
    const std::string shown =
        step.is_command() ? "`" + printable(step.whole()) + "`" : cell(step.text);
    text += fmt::format("{}. {}\n", ++number, shown);
  }
  return text;
}

}  // namespace

std::string to_postmortem(const LogDiagnosis& diagnosis, const findings::Scene& scene,
                          const LogExtent& extent) {
  return printable_lines(fmt::format("# Post-mortem: {}\n\n", diagnosis.cause.id) +
                         summary(diagnosis, scene, extent) + timeline(diagnosis) +
                         root_cause(diagnosis) + what_to_change(diagnosis));
}

}  // namespace headroom::report
