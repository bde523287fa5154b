// SPDX-License-Identifier: Apache-2.0
#include "report/proof_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "base/shell_quote.h"
#include "report/step_cause.h"
#include "report/step_result.h"

namespace headroom::report {
namespace {

using proof::ProofReport;
using proof::StepResult;
using proof::TestedDevice;
using Ordered = nlohmann::ordered_json;

std::string table_of(const TestedDevice& device, const Style& style) {
  std::vector<std::vector<std::string>> rows{{"step", "", "measured", "found"}};
  for (const StepResult& step : device.steps)
    rows.push_back({step.name, word_of(step), printable(figure_of(step)), printable(step.detail)});
  std::string text;
  const auto lines =
      table(rows, {Align::left, Align::left, Align::right, Align::left}, 2, style.width);
  for (const TableLine& line : lines) {
    const StepResult* step = line.row > 0 ? &device.steps[line.row - 1] : nullptr;
    text += painted_line(line.text, step, style) + "\n";
  }
  return text;
}

std::string describe(const TestedDevice& device, const Style& style) {
  const std::string place = device.device == "cpu" ? "" : " at " + device.device;
  std::string text = "\n" + style.bold(printable(device.name + place)) + "\n";
  text += fold(printable(device.framework), "", style.width) + table_of(device, style);
  for (const StepResult& step : device.steps) {
    if (step.cause) text += step_cause_text(step.name, *step.cause, style);
  }
  return text;
}

std::string heading(const ProofReport& report, const Style& style) {
  // A device is tested once for each framework.
  std::set<std::string> devices, broken;
  for (const TestedDevice& device : report.devices) {
    devices.insert(device.device);
    if (has_failure(device)) broken.insert(device.device);
  }
  const std::size_t all = devices.size(), failed = broken.size();
  const bool on_cpu = all == 1 && *devices.begin() == "cpu";
  const std::string what =
      on_cpu ? "the processor" : fmt::format("{} {}", all, all == 1 ? "GPU" : "GPUs");
  if (failed == 0) {
    const std::string text = fmt::format("Every step that was done passed on {}.", what);
    return (on_cpu ? style.yellow(text) : style.green(text)) + "\n";
  }
  const std::string of = all == 1 ? "on " + what : fmt::format("on {} of {}", failed, what);
  return style.red(fmt::format("A step failed {}.", of)) + "\n";
}

struct Next {
  std::string command, remark;
};

Next next_of(const ProofReport& report) {
  if (has_failure(report)) {
    return {"headroom check --python " + shell_quote(report.python),
            "(what of this machine could explain it)"};
  }
  const bool on_cpu = !report.devices.empty() && report.devices.front().device == "cpu";
  if (on_cpu) return {"headroom check", "(whether this machine has a GPU that jobs could use)"};
  return {"headroom plan --model Qwen/Qwen2.5-3B --method lora",
          "(says whether a job fits; put in your model)"};
}

}  // namespace

std::string to_json_text(const ProofReport& report) {
  Ordered devices = Ordered::array();
  for (const TestedDevice& device : report.devices) {
    Ordered steps = Ordered::array();
    for (const StepResult& step : device.steps) steps.push_back(step_result_json(step));
    devices.push_back({{"device", device.device},
                       {"name", device.name},
                       {"framework", device.framework},
                       {"steps", std::move(steps)}});
  }
  const Ordered document = {{"schema", "headroom.test/1"},
                            {"python", report.python},
                            {"gpus", std::move(devices)},
                            {"remarks", report.remarks},
                            {"next", next_of(report).command}};
  return document.dump(2, ' ', false, Ordered::error_handler_t::replace) + "\n";
}

std::string to_text(const ProofReport& report, const Style& style) {
  std::string text = heading(report, style);
  for (const TestedDevice& device : report.devices) text += describe(device, style);
  text += "\n";
  for (const std::string& remark : report.remarks)
    text += fold(printable(remark) + ".", "", style.width);
  const Next next = next_of(report);
  return fit(text + next_line(next.command, next.remark, style), style.width);
}

}  // namespace headroom::report
