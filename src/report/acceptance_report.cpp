// SPDX-License-Identifier: Apache-2.0
#include "report/acceptance_report.h"

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/version.h"

namespace headroom::report {
namespace {

using Ordered = nlohmann::ordered_json;

Ordered text_or_null(const std::string& word) {
  return word.empty() ? Ordered(nullptr) : Ordered(word);
}

std::string mark(const AcceptanceStep& step, const Style& style) {
  if (!step.ok) return style.dim("not done");
  return *step.ok ? style.green("ok") : style.red("failed");
}

}  // namespace

bool has_failure(const Acceptance& acceptance) {
  return std::any_of(acceptance.steps.begin(), acceptance.steps.end(),
                     [](const AcceptanceStep& step) { return step.ok && !*step.ok; });
}

std::string to_text(const Acceptance& acceptance, const Style& style) {
  std::vector<std::string> gpus;
  for (const std::string& gpu : acceptance.gpus) gpus.push_back(printable(gpu));
  std::string text = style.bold(gpus.empty() ? "No AMD GPU" : join(gpus, ", "));
  if (!acceptance.kernel.empty()) text += ", Linux " + printable(acceptance.kernel);
  if (!acceptance.rocm.empty()) text += ", ROCm " + printable(acceptance.rocm);
  text += "\n\n";
  std::vector<std::vector<std::string>> rows;
  for (const AcceptanceStep& step : acceptance.steps) {
    rows.push_back(
        {mark(step, style), step.name, fmt::format("{:.0f} s", step.seconds),
         step.detail.empty() ? step.meaning : step.meaning + ": " + printable(step.detail)});
  }
  for (const TableLine& line :
       table(rows, {Align::left, Align::left, Align::right, Align::left}, 2, style.width)) {
    text += line.text + "\n";
  }
  for (const AcceptanceStep& step : acceptance.steps) {
    if (step.ok && !*step.ok)
      text += "\nTo repeat " + step.name + ": " + keep_whole(printable(step.command)) + "\n";
  }
  return text +
         fmt::format(
             "\nThe record is {}: without serial numbers and names, and with every answer. Look "
             "through it, then attach it to an issue, also where all is well.\n",
             printable(acceptance.output));
}

Ordered to_json(const Acceptance& acceptance) {
  Ordered document{{"schema", "headroom.accept/1"},
                   {"version", std::string(program_version())},
                   {"output", acceptance.output},
                   {"kernel", text_or_null(acceptance.kernel)},
                   {"rocm", text_or_null(acceptance.rocm)},
                   {"gpus", acceptance.gpus},
                   {"steps", Ordered::array()}};
  for (const AcceptanceStep& step : acceptance.steps) {
    document["steps"].push_back({{"name", step.name},
                                 {"ok", step.ok ? Ordered(*step.ok) : Ordered(nullptr)},
                                 {"exit_code", step.code ? Ordered(*step.code) : Ordered(nullptr)},
                                 {"seconds", step.seconds},
                                 {"command", text_or_null(step.command)},
                                 {"detail", text_or_null(step.detail)},
                                 {"file", text_or_null(step.file)}});
  }
  return document;
}

}  // namespace headroom::report
