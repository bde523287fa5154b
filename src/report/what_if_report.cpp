// SPDX-License-Identifier: Apache-2.0
#include "report/what_if_report.h"

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "facts/largest_allocation.h"
#include "findings/memory_use.h"
#include "plan/memory_size.h"
#include "report/cause_text.h"
#include "report/ladder_text.h"
#include "report/machine_summary.h"

namespace headroom::report {
namespace {

using Ordered = nlohmann::ordered_json;
using Row = std::vector<std::string>;
using facts::Fact;

std::string amount(const facts::Rung* rung) {
  if (rung == nullptr) return "-";
  if (rung->limit) return (rung->at_most ? "at most " : "") + to_string(*rung->limit);
  return rung->limit.missing().why == facts::Why::not_limited ? "no limit" : "-";
}

// Rungs that say nothing on either side are left out.
std::string rungs_text(const facts::Gpu& now, const facts::Gpu& then, const Style& style) {
  std::vector<Row> rows = {{"", "rung", "now", "then", ""}};
  for (const facts::Rung& rung : then.ladder.rungs) {
    const facts::Rung* before = now.ladder.rung(rung.name);
    const bool applied = rung.applies || (before != nullptr && before->applies);
    const bool free = rung.kind == facts::RungKind::free;
    if (!applied || free || (amount(&rung) == "-" && amount(before) == "-")) continue;
    const bool formula =
        rung.limit && !rung.limit.source().text.empty() &&
        (rung.limit.source().path == "computed" || rung.limit.source().path == "predicted");
    std::string how = formula ? rung.limit.source().text : "";
    if (how == "--if") how = "as given";
    rows.push_back({rung.binding ? ">" : " ", rung.name, amount(before), amount(&rung),
                    how + (rung.binding ? "  " + keep_whole("<- binds") : "")});
  }
  std::string text;
  for (const TableLine& line :
       table(rows, {Align::left, Align::left, Align::right, Align::right, Align::left}, 2,
             style.width)) {
    text += (line.row == 0 ? style.dim(line.text) : line.text) + "\n";
  }
  return text;
}

std::string gain(const facts::Gpu& now, const facts::Gpu& then) {
  const facts::Rung* before = now.ladder.binding();
  const facts::Rung* after = then.ladder.binding();
  if (after == nullptr) return "What it could use cannot be predicted: a fact is missing.";
  std::string text = "It could use " + amount(after);
  if (before != nullptr && *before->limit == *after->limit) {
    text += ", as now";
    // A limit says nothing of what others hold of it, and a reboot ends them.
    const auto use = findings::memory_use(now);
    if (use && use->used && findings::share(*use->used, use->capacity) >= findings::crowded_share) {
      text += fmt::format(" when nothing holds it ({} is in use)", to_string(*use->used));
    }
  } else if (before != nullptr) {
    text += fmt::format(" instead of {}", to_string(*before->limit));
  }
  text += fmt::format("; {} binds.", after->name);
  const facts::Rung* ram = then.ladder.rung("ram");
  if (ram != nullptr && ram->applies && ram->limit) {
    text += fmt::format(" {} of RAM is left for the system.",
                        to_string(saturating_sub(*ram->limit, *after->limit)));
  }
  if (const auto largest = facts::find_largest_allocation(then.ladder)) {
    text += fmt::format(" Largest single allocation: {}, because {}.", to_string(largest->bytes),
                        largest->why);
  }
  return text;
}

std::string findings_text(const findings::Diagnosis& diagnosis, const Style& style) {
  std::string text;
  for (const findings::Finding& finding : diagnosis.findings) {
    if (finding.severity == findings::Severity::info) continue;
    const std::string mark(to_string(finding.severity));
    text += fold(printable(finding.title), fmt::format("  {}: ", mark), style.width);
    for (const std::string& reason : finding.reasons) {
      text += fold(printable(reason), "      ", style.width);
    }
  }
  return text.empty() ? "" : "\n" + style.bold("What check would find then") + "\n" + text;
}

}  // namespace

std::string verdict_text(const facts::Facts& now, const WhatIfAnswer& answer, const Style& style) {
  const auto& then = answer.prediction.facts.gpus;
  std::vector<std::string> said;
  for (std::size_t i = 0; i < then.size() && i < now.gpus.size(); ++i) {
    std::string one = gain(now.gpus[i], then[i]);
    one = one.substr(0, one.find("; "));
    if (one.starts_with("It could"))
      one = then[i].name + one.substr(std::string_view("It").size());
    else
      one = fmt::format("{}: {}", then[i].name, one);
    if (std::find(said.begin(), said.end(), one) == said.end()) said.push_back(std::move(one));
  }
  const std::string text = said.empty() ? "no AMD GPU here" : join(said, "; ");
  return fit(verdict_line(answer.diagnosis.verdict,
                          printable(text) + count_of_warnings(answer.diagnosis), style),
             style.width);
}

namespace {

// What makes it so, if it is a limit alone.
std::string next_text(const WhatIfAnswer& answer, const Style& style) {
  const auto& limit = answer.change.pages_limit.value;
  if (!limit || answer.change.words.size() != 1) {
    return next_line(for_root("headroom check", answer.root), "(shows the present state)", style);
  }
  const facts::Fact<Bytes>& ram = answer.prediction.facts.machine.memory.total;
  if (ram && saturating_sub(*ram, *limit) < plan::least_left) {
    return next_line(
        for_root("headroom fix ttm-cap --size max", answer.root),
        fmt::format("(the most that leaves the system {})", to_string(plan::least_left)), style);
  }
  const bool whole = limit->value % (1_GiB).value == 0;
  const std::string size =
      whole ? fmt::format("{}GiB", limit->value / (1_GiB).value) : std::to_string(limit->value);
  return next_line(for_root("headroom fix ttm-cap --size " + size, answer.root),
                   "(shows how to make it so)", style);
}

}  // namespace

std::string to_text(const facts::Facts& now, const WhatIfAnswer& answer, const Style& style) {
  const auto& then = answer.prediction.facts;
  std::string text = style.bold(answer.change.words == std::vector<std::string>{"reboot"}
                                    ? "After a reboot"
                                    : "After a reboot with " + join(answer.change.words, ", ")) +
                     "  (predicted)\n";
  for (std::size_t i = 0; i < then.gpus.size() && i < now.gpus.size(); ++i) {
    text += "\n" + gpu_heading(then.gpus[i], style) + rungs_text(now.gpus[i], then.gpus[i], style);
    text += fold(gain(now.gpus[i], then.gpus[i]), "  ", style.width);
  }
  if (!answer.prediction.steps.empty())
    text += "\n" + style.bold("How headroom computes it") + "\n";
  for (const std::string& step : answer.prediction.steps) {
    text += fold(printable(step), "  ", style.width);
  }
  text += findings_text(answer.diagnosis, style);
  return fit(text + "\n" + next_text(answer, style), style.width);
}

Ordered to_json(const WhatIfAnswer& answer) {
  const auto bytes = [](const Fact<Bytes>& fact) {
    return fact ? Ordered(fact->value) : Ordered(nullptr);
  };
  Ordered json;
  json["changes"] = answer.change.words;
  json["steps"] = answer.prediction.steps;
  json["verdict"] = to_string(answer.diagnosis.verdict);
  json["ram_bytes"] = bytes(answer.prediction.facts.machine.memory.total);
  json["gpus"] = Ordered::array();
  for (const facts::Gpu& gpu : answer.prediction.facts.gpus) {
    const facts::Rung* binding = gpu.ladder.binding();
    const auto largest = facts::find_largest_allocation(gpu.ladder);
    json["gpus"].push_back(
        {{"pci", gpu.pci},
         {"pool_bytes", bytes(gpu.pool)},
         {"usable_bytes", binding != nullptr ? bytes(binding->limit) : Ordered(nullptr)},
         {"binding", binding != nullptr ? Ordered(binding->name) : Ordered(nullptr)},
         {"largest_allocation_bytes", largest ? Ordered(largest->bytes.value) : Ordered(nullptr)},
         {"largest_allocation_because", largest ? Ordered(largest->why) : Ordered(nullptr)}});
  }
  json["findings"] = Ordered::array();
  for (const findings::Finding& finding : answer.diagnosis.findings) {
    json["findings"].push_back(
        {{"id", finding.id}, {"severity", to_string(finding.severity)}, {"title", finding.title}});
  }
  return json;
}

}  // namespace headroom::report
