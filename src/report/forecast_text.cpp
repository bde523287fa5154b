// SPDX-License-Identifier: Apache-2.0
#include "report/forecast_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/ladder_text.h"

namespace headroom::report {
namespace {

using Row = std::vector<std::string>;

std::string now_text(const facts::Rung* rung) {
  if (rung == nullptr || !rung->limit) return "-";
  return to_string(*rung->limit);
}

std::string then_text(const plan::PredictedRung& rung) {
  return (rung.at_most ? "at most " : "") + to_string(rung.limit);
}

const plan::PredictedRung* binding_of(const plan::Forecast& forecast, const std::string& gpu) {
  const auto found = std::find_if(
      forecast.rungs.begin(), forecast.rungs.end(),
      [&](const plan::PredictedRung& rung) { return rung.gpu == gpu && rung.binding; });
  return found == forecast.rungs.end() ? nullptr : &*found;
}

std::string rungs_text(const plan::Forecast& forecast, const facts::Gpu& now, const Style& style) {
  std::vector<Row> rows = {{"", "rung", "now", "after the reboot", "what it is"}};
  for (const plan::PredictedRung& rung : forecast.rungs) {
    if (rung.gpu != now.pci) continue;
    const std::string what(rung_meaning(rung.rung, true));
    rows.push_back({rung.binding ? ">" : " ", rung.rung, now_text(now.ladder.rung(rung.rung)),
                    then_text(rung), what + (rung.binding ? "  " + keep_whole("<- binds") : "")});
  }
  const auto lines = table(
      rows, {Align::left, Align::left, Align::right, Align::right, Align::left}, 2, style.width);
  std::string text;
  for (const TableLine& line : lines) {
    if (line.row == 0) {
      text += style.dim(line.text);
    } else {
      text += rows[line.row][0] == ">" ? style.bold(line.text) : line.text;
    }
    text += "\n";
  }
  return text;
}

std::string gain(const plan::Forecast& forecast, const facts::Gpu& now, const Style& style) {
  const plan::PredictedRung* then = binding_of(forecast, now.pci);
  const facts::Rung* before = now.ladder.binding();
  if (then == nullptr) return "";
  std::string text = "Jobs could use " + then_text(*then);
  if (before != nullptr && *before->limit == then->limit) {
    text += ", as now.";
  } else {
    text += before == nullptr ? "." : fmt::format(" instead of {}.", to_string(*before->limit));
  }
  return fold(text, "  ", style.width);
}

}  // namespace

std::string forecast_text(const plan::Forecast& forecast, const facts::Facts& now,
                          const Style& style) {
  std::string text;
  for (const facts::Gpu& gpu : now.gpus) {
    const bool predicted =
        std::any_of(forecast.rungs.begin(), forecast.rungs.end(),
                    [&](const plan::PredictedRung& rung) { return rung.gpu == gpu.pci; });
    if (!predicted) continue;
    text += "\n" + gpu_heading(gpu, style) + rungs_text(forecast, gpu, style) +
            gain(forecast, gpu, style);
  }
  return text;
}

}  // namespace headroom::report
