// SPDX-License-Identifier: Apache-2.0
#include "report/together_report.h"

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/shell_quote.h"
#include "base/text.h"
#include "report/cause_text.h"
#include "report/step_cause.h"
#include "report/step_result.h"

namespace headroom::report {
namespace {

using proof::JoinedStep;
using proof::TogetherReport;
using Ordered = nlohmann::ordered_json;

std::string between(const JoinedStep& step, const TogetherReport& report) {
  if (!report.on_gpu) return fmt::format("{} ranks", step.between.size());
  if (step.between.size() == report.devices.size() && step.between.size() > 2) return "all";
  return join(step.between, step.result.name == proof::peer_step ? " to " : ", ");
}

std::string table_of(const TogetherReport& report, const Style& style) {
  std::vector<std::vector<std::string>> rows{{"step", "between", "", "measured", "found"}};
  for (const JoinedStep& step : report.steps) {
    rows.push_back({step.result.name, printable(between(step, report)), word_of(step.result),
                    printable(figure_of(step.result)), printable(step.result.detail)});
  }
  std::string text;
  const auto lines = table(rows, {Align::left, Align::left, Align::left, Align::right, Align::left},
                           2, style.width);
  for (const TableLine& line : lines) {
    const auto* step = line.row > 0 ? &report.steps[line.row - 1].result : nullptr;
    text += painted_line(line.text, step, style) + "\n";
  }
  return text;
}

std::string heading(const TogetherReport& report, const Style& style) {
  const std::string what = report.on_gpu
                               ? fmt::format("{} GPUs", report.devices.size())
                               : fmt::format("{} ranks on the processor", report.devices.size());
  if (has_failure(report)) return style.red(fmt::format("A step failed between {}.", what)) + "\n";
  const std::string text = fmt::format("Every step that was done passed between {}.", what);
  return (report.on_gpu ? style.green(text) : style.yellow(text)) + "\n";
}

struct Next {
  std::string command, remark;
};

Next next_of(const TogetherReport& report) {
  if (has_failure(report)) {
    return {"headroom check --python " + shell_quote(report.python),
            "(what of this machine could explain it)"};
  }
  if (!report.on_gpu)
    return {"headroom check", "(whether this machine has GPUs that jobs could use)"};
  return {fmt::format("torchrun --nproc-per-node {} train.py", report.devices.size()),
          "(a job on all of them)"};
}

}  // namespace

std::string to_json_text(const TogetherReport& report) {
  Ordered devices = Ordered::array(), steps = Ordered::array(), facts = Ordered::array();
  for (const proof::JoinedDevice& one : report.devices)
    devices.push_back({{"device", one.device}, {"name", one.name}});
  for (const JoinedStep& step : report.steps) {
    Ordered one = step_result_json(step.result);
    one["between"] = step.between;
    steps.push_back(std::move(one));
  }
  for (const proof::Explanation& one : report.facts)
    facts.push_back({{"id", one.id}, {"title", one.title}});
  const Ordered document = {{"schema", "headroom.test/1"},
                            {"python", report.python},
                            {"multi",
                             {{"framework", report.framework},
                              {"on_gpu", report.on_gpu},
                              {"devices", std::move(devices)},
                              {"steps", std::move(steps)},
                              {"facts", std::move(facts)},
                              {"instead", findings::texts_of(report.instead)}}},
                            {"remarks", report.remarks},
                            {"next", next_of(report).command}};
  return document.dump(2, ' ', false, Ordered::error_handler_t::replace) + "\n";
}

std::string to_text(const TogetherReport& report, const Style& style) {
  std::string text = heading(report, style) + "\n";
  if (report.on_gpu) {
    for (const proof::JoinedDevice& one : report.devices)
      text += style.bold(printable(one.name + " at " + one.device)) + "\n";
  }
  text += fold(printable(report.framework), "", style.width) + table_of(report, style);
  for (const JoinedStep& step : report.steps) {
    if (step.result.cause) text += step_cause_text(step.result.name, *step.result.cause, style);
  }
  if (!report.facts.empty()) {
    text += "\n" + style.bold("What of this machine explains it") + "\n";
    for (const proof::Explanation& one : report.facts)
      text += fold(printable(one.id + ": " + one.title), "  ", style.width);
  }
  if (!report.instead.empty()) {
    text += "\n" + style.bold("What works instead") + "\n" + steps_text(report.instead, style);
  }
  text += "\n";
  for (const std::string& remark : report.remarks)
    text += fold(printable(remark) + ".", "", style.width);
  const Next next = next_of(report);
  return fit(text + next_line(next.command, next.remark, style), style.width);
}

}  // namespace headroom::report
