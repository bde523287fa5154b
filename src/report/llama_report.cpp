// SPDX-License-Identifier: Apache-2.0
#include "report/llama_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "base/document.h"
#include "base/shell_quote.h"
#include "base/text.h"

namespace headroom::report {
namespace {

using estimate::Verdict;
using estimate::llama::Buffers;
using estimate::llama::Fitting;
using estimate::llama::Gpu;
using estimate::llama::LlamaPlan;

struct Row {
  const char* name;
  std::uint64_t Buffers::*bytes;
};
constexpr std::array<Row, 6> rows = {{{"weights", &Buffers::weights_bytes},
                                      {"KV cache", &Buffers::cache_bytes},
                                      {"recurrent states", &Buffers::states_bytes},
                                      {"compute buffer", &Buffers::compute_bytes},
                                      {"output buffer", &Buffers::output_bytes},
                                      {"driver's context", &Buffers::context_bytes}}};

std::string size(std::uint64_t bytes) {
  return bytes == 0 ? "-" : to_string(Bytes{bytes});
}

std::string headline(const LlamaPlan& plan) {
  const auto& memory = plan.memory;
  const auto& context = memory.context;
  const std::string cells = context.window_cells == 0
                                ? ""
                                : fmt::format(", {} where a window is seen", context.window_cells);
  return fmt::format(
      "{} under llama.cpp: {} of {} layers on {}, flash attention {}\n"
      "context of {} tokens in {} {} of {} cells{}; keys in {}, values in {}; steps of {} tokens\n",
      plan.model.architecture, memory.placement.gpu_layers, plan.model.layers.size() + 1,
      plan.gpus.size() == 1 ? "one GPU" : fmt::format("{} GPUs", plan.gpus.size()),
      context.flash ? "on" : "off", context.context, context.streams,
      context.streams == 1 ? "stream" : "streams", context.cells, cells, plan.options.cache_type_k,
      plan.options.cache_type_v, context.tokens);
}

std::string verdict(const LlamaPlan& plan, const Style& style) {
  switch (plan.verdict) {
    case Verdict::fits:
      return style.green("It fits.") + "\n";
    case Verdict::borderline:
      return style.yellow("It fits, but barely:") +
             " more than 90 % of a GPU is used, and kernels need some more.\n";
    case Verdict::does_not_fit:
      return style.red("It does not fit.") + "\n";
    default:
      return "headroom knows no capacity, so it cannot say whether it fits. Give --gpu or "
             "--capacity.\n";
  }
}

std::string table_of(const LlamaPlan& plan, const Style& style) {
  std::vector<std::vector<std::string>> cells = {{""}};
  std::vector<Align> columns = {Align::left};
  for (const Gpu& gpu : plan.gpus) cells[0].push_back(printable(gpu.name));
  cells[0].emplace_back("host");
  for (std::size_t i = 0; i < cells[0].size() - 1; ++i) columns.push_back(Align::right);
  for (const Row& row : rows) {
    std::vector<std::string> line = {row.name};
    bool any = plan.memory.host.*row.bytes != 0;
    for (const Buffers& gpu : plan.memory.gpus) {
      any = any || gpu.*row.bytes != 0;
      line.push_back(size(gpu.*row.bytes));
    }
    line.push_back(size(plan.memory.host.*row.bytes));
    if (any) cells.push_back(std::move(line));
  }
  std::vector<std::string> total = {"in all"};
  std::vector<std::string> capacity = {"of"};
  for (std::size_t i = 0; i < plan.gpus.size(); ++i) {
    total.push_back(size(plan.memory.gpus[i].total()));
    capacity.push_back(plan.gpus[i].capacity_bytes ? size(*plan.gpus[i].capacity_bytes) : "?");
  }
  total.push_back(size(plan.memory.host.total()));
  capacity.emplace_back("");
  cells.push_back(std::move(total));
  cells.push_back(std::move(capacity));
  std::string text = "\n";
  for (const TableLine& line : table(cells, columns, 2, style.width)) {
    const std::size_t end = line.text.find_last_not_of(' ');
    text += line.text.substr(0, end == std::string::npos ? 0 : end + 1) + "\n";
  }
  return text;
}

std::string fitting(const LlamaPlan& plan, const Style& style) {
  std::string text;
  for (const Fitting& one : plan.fitting) {
    std::vector<std::string> sizes;
    for (const std::uint64_t bytes : one.gpu_bytes) sizes.push_back(size(bytes));
    text +=
        fold(fmt::format("{}: {} ({}; host {})", one.what, keep_whole(shell_line(one.arguments)),
                         join(sizes, ", "), size(one.host_bytes)),
             "  ", style.width);
  }
  if (text.empty()) return plan.fits == false ? "\nNo setting that headroom tried fits.\n" : "";
  return (plan.fits == false ? "\nWhat would fit:\n" : "\nThe most that fits:\n") + text;
}

Json to_json(const Buffers& buffers) {
  return {{"weights_bytes", buffers.weights_bytes}, {"cache_bytes", buffers.cache_bytes},
          {"states_bytes", buffers.states_bytes},   {"compute_bytes", buffers.compute_bytes},
          {"output_bytes", buffers.output_bytes},   {"context_bytes", buffers.context_bytes},
          {"total_bytes", buffers.total()}};
}

}  // namespace

std::string to_text(const LlamaPlan& plan, const Style& style) {
  std::string text = headline(plan) + "\n" + verdict(plan, style) + table_of(plan, style) +
                     fitting(plan, style) + "\nThe command for this plan:\n" +
                     fold(shell_line(plan.arguments), "  ", style.width);
  if (!plan.notes.empty()) text += "\nAssumed:\n";
  for (const std::string& note : plan.notes) text += fold(printable(note), "  ", style.width);
  return fit(text, style.width);
}

Json to_json(const LlamaPlan& plan) {
  const auto& context = plan.memory.context;
  Json json = {{"schema", "headroom.plan-llama/1"},
               {"architecture", plan.model.architecture},
               {"proven", plan.model.family.checked && !plan.model.has_recurrence()},
               {"verdict", std::string(to_string(plan.verdict))},
               {"fits", plan.fits ? Json(*plan.fits) : Json(nullptr)},
               {"gpu_layers", plan.memory.placement.gpu_layers},
               {"layers", plan.model.layers.size() + 1},
               {"context", context.context},
               {"sequences", context.sequences},
               {"cells", context.cells},
               {"window_cells", context.window_cells},
               {"flash_attention", context.flash},
               {"graph", {{"nodes", plan.memory.nodes}, {"splits", plan.memory.splits}}},
               {"host", to_json(plan.memory.host)},
               {"gpus", Json::array()},
               {"fitting", Json::array()},
               {"arguments", plan.arguments},
               {"notes", plan.notes},
               {"missing", Json::object()}};
  constexpr const char* unknown = "no capacity is known: name a --gpu or a --capacity";
  if (!plan.fits) json["missing"]["/fits"] = unknown;
  for (std::size_t i = 0; i < plan.gpus.size(); ++i) {
    Json gpu = to_json(plan.memory.gpus[i]);
    gpu["name"] = plan.gpus[i].name;
    const auto& capacity = plan.gpus[i].capacity_bytes;
    gpu["capacity_bytes"] = capacity ? Json(*capacity) : Json(nullptr);
    if (!capacity) json["missing"][fmt::format("/gpus/{}/capacity_bytes", i)] = unknown;
    json["gpus"].push_back(std::move(gpu));
  }
  for (const Fitting& one : plan.fitting)
    json["fitting"].push_back({{"what", one.what},
                               {"arguments", one.arguments},
                               {"gpu_bytes", one.gpu_bytes},
                               {"host_bytes", one.host_bytes}});
  return json;
}

}  // namespace headroom::report
