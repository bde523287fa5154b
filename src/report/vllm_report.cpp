// SPDX-License-Identifier: Apache-2.0
#include "report/vllm_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/document.h"
#include "base/shell_quote.h"
#include "base/text.h"

namespace headroom::report {
namespace {

using estimate::Verdict;
using estimate::vllm::Fitting;
using estimate::vllm::Memory;
using estimate::vllm::Range;
using estimate::vllm::VllmPlan;

std::string size(std::uint64_t bytes) {
  return to_string(Bytes{bytes});
}

std::string range(const Range& one) {
  return one.low_bytes == one.high_bytes
             ? size(one.low_bytes)
             : fmt::format("{} to {}", size(one.low_bytes), size(one.high_bytes));
}

std::string headline(const VllmPlan& plan) {
  const Memory& memory = plan.memory;
  const std::uint64_t ranks = plan.options.tensor_parallel;
  return fmt::format(
      "{} under vLLM ({}): {}, on {}\n"
      "requests of up to {} tokens, steps of {} tokens and {} sequences; cache in {}, {} a token\n",
      printable(plan.options.model), memory.rules.v1 ? "V1" : "V0", memory.storage.name,
      ranks == 1 ? "one GPU" : fmt::format("{} GPUs, the figures for each", ranks),
      memory.rules.max_length, memory.rules.batched_tokens, memory.rules.max_sequences,
      memory.cache.type, size(memory.cache.token_bytes));
}

std::string verdict(const VllmPlan& plan, const Style& style) {
  switch (plan.verdict) {
    case Verdict::fits:
      return style.green("It fits.") + "\n";
    case Verdict::borderline:
      return style.yellow("It may fit:") +
             " memory beside weights and activations, known only from load logs, decides.\n";
    case Verdict::does_not_fit:
      return style.red("It does not fit.") + "\n";
    default:
      return "headroom knows no capacity, so it cannot say whether it fits. Give --gpu or "
             "--capacity.\n";
  }
}

std::string table_of(const VllmPlan& plan, const Style& style) {
  const Memory& memory = plan.memory;
  std::vector<std::vector<std::string>> cells = {
      {"weights", size(memory.weights_bytes), ""},
      {"profile run", size(memory.profile.peak()),
       fmt::format("{} decides", memory.profile.decided_by())},
      {"beside PyTorch", range(memory.other), "in load logs"},
  };
  if (memory.rules.graphs_in_share)
    cells.push_back({"graphs", range(memory.graphs), "in load logs"});
  if (memory.budget_bytes > 0) {
    cells.push_back({"left for the cache", range(memory.available), ""});
    const std::string share =
        plan.options.kv_cache_bytes
            ? ""
            : fmt::format("{:.4g} of {}", memory.rules.utilization, size(plan.card.total_bytes));
    cells.push_back({"the share in all", size(memory.budget_bytes), share});
  }
  std::string text = "\n";
  for (const TableLine& line :
       table(cells, {Align::left, Align::right, Align::left}, 2, style.width)) {
    const std::size_t end = line.text.find_last_not_of(' ');
    text += line.text.substr(0, end == std::string::npos ? 0 : end + 1) + "\n";
  }
  return text;
}

std::string capacity_of(const VllmPlan& plan) {
  const Memory& memory = plan.memory;
  if (memory.budget_bytes == 0) return "";
  const auto& [low, high] = memory.available;
  const std::string tokens =
      low == high ? std::to_string(memory.cache.tokens(low))
                  : fmt::format("{} to {}", memory.cache.tokens(low), memory.cache.tokens(high));
  const std::string times = low == high
                                ? fmt::format("{:.2f}x", memory.cache.concurrency(low))
                                : fmt::format("{:.2f}x to {:.2f}x", memory.cache.concurrency(low),
                                              memory.cache.concurrency(high));
  return fmt::format(
      "\nGPU KV cache size: {} tokens\n"
      "Maximum concurrency for {} tokens per request: {}\n",
      tokens, memory.rules.max_length, times);
}

std::string fitting(const VllmPlan& plan, const Style& style) {
  std::string text;
  for (const Fitting& one : plan.fitting)
    text += fold(fmt::format("{}: {} (at least {} for the cache, {:.2f}x)", one.what,
                             keep_whole(shell_line(one.arguments)), size(one.available_bytes),
                             one.concurrency),
                 "  ", style.width);
  const bool holds = plan.memory.holds_at_worst();
  if (text.empty())
    return plan.fits && plan.starts && !holds ? "\nNo setting that headroom tried fits.\n" : "";
  return (holds ? "\nThe most that fits:\n" : "\nWhat would certainly fit:\n") + text;
}

Json to_json(const Range& one) {
  return {{"low_bytes", one.low_bytes}, {"high_bytes", one.high_bytes}};
}

Json cache_json(const VllmPlan& plan) {
  const Memory& memory = plan.memory;
  const auto& layout = memory.cache;
  Json json = {{"type", layout.type},
               {"token_bytes", layout.token_bytes},
               {"block_size", layout.block_size},
               {"block_bytes", layout.block_bytes()},
               {"groups", layout.groups},
               {"request_blocks", layout.request_blocks},
               {"available", nullptr},
               {"tokens", nullptr},
               {"concurrency", nullptr}};
  if (memory.budget_bytes == 0) return json;
  const auto& [low, high] = memory.available;
  json["available"] = to_json(memory.available);
  json["tokens"] = {{"low", layout.tokens(low)}, {"high", layout.tokens(high)}};
  json["concurrency"] = {{"low", layout.concurrency(low)}, {"high", layout.concurrency(high)}};
  return json;
}

}  // namespace

std::string to_text(const VllmPlan& plan, const Style& style) {
  std::vector<std::string> command = plan.arguments;
  command.insert(command.begin(), "vllm");
  std::string text = headline(plan) + "\n" + verdict(plan, style) + table_of(plan, style) +
                     capacity_of(plan) + fitting(plan, style) + "\nThe command for this plan:\n" +
                     fold(shell_line(command), "  ", style.width);
  if (!plan.notes.empty()) text += "\nAssumed:\n";
  for (const std::string& note : plan.notes) text += fold(printable(note), "  ", style.width);
  return fit(text, style.width);
}

Json to_json(const VllmPlan& plan) {
  const Memory& memory = plan.memory;
  const bool known = memory.budget_bytes > 0;
  const bool has_card = plan.card.total_bytes > 0;
  Json json = {{"schema", "headroom.plan-vllm/1"},
               {"model", plan.options.model},
               {"proven", plan.proven},
               {"verdict", std::string(to_string(plan.verdict))},
               {"fits", plan.fits ? Json(*plan.fits) : Json(nullptr)},
               {"engine", memory.rules.v1 ? "V1" : "V0"},
               {"tensor_parallel", plan.options.tensor_parallel},
               {"max_length", memory.rules.max_length},
               {"max_sequences", memory.rules.max_sequences},
               {"batched_tokens", memory.rules.batched_tokens},
               {"utilization", memory.rules.utilization},
               {"weights_bytes", memory.weights_bytes},
               {"activation_bytes", memory.profile.peak()},
               {"layer_bytes", memory.profile.layer_bytes},
               {"sampler_bytes", memory.profile.sampler_bytes},
               {"other", to_json(memory.other)},
               {"graphs", to_json(memory.graphs)},
               {"graphs_in_share", memory.rules.graphs_in_share},
               {"capacity_bytes", has_card ? Json(plan.card.total_bytes) : Json(nullptr)},
               {"budget_bytes", known ? Json(memory.budget_bytes) : Json(nullptr)},
               {"cache", cache_json(plan)},
               {"fitting", Json::array()},
               {"arguments", plan.arguments},
               {"notes", plan.notes},
               {"missing", Json::object()}};
  constexpr const char* unknown = "no capacity is known: name a --gpu or a --capacity";
  if (!has_card) json["missing"]["/capacity_bytes"] = unknown;
  if (!known)
    for (const char* pointer :
         {"/fits", "/budget_bytes", "/cache/available", "/cache/tokens", "/cache/concurrency"})
      json["missing"][pointer] = unknown;
  for (const Fitting& one : plan.fitting)
    json["fitting"].push_back({{"what", one.what},
                               {"arguments", one.arguments},
                               {"available_bytes", one.available_bytes},
                               {"concurrency", one.concurrency}});
  return json;
}

}  // namespace headroom::report
