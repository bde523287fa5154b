// SPDX-License-Identifier: Apache-2.0
#include "estimate/llama_cpp/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "base/text.h"
#include "estimate/llama_cpp/build.h"

namespace headroom::estimate::llama {
namespace {

// Where each GPU's share of the layers ends, as a part of 1.
std::vector<float> split_points(const Options& options, const std::vector<Gpu>& gpus) {
  std::vector<float> points;
  float sum = 0;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    // By free memory where no split is given; equal where that is not known.
    float share = gpus[i].capacity_bytes ? static_cast<float>(*gpus[i].capacity_bytes) : 1.0F;
    if (!options.tensor_split.empty())
      share = i < options.tensor_split.size() ? static_cast<float>(options.tensor_split[i]) : 0;
    sum += share;
    points.push_back(sum);
  }
  for (float& point : points) point = sum > 0 ? point / sum : 1;
  return points;
}

// "CUDA1", "ROCm0", "Vulkan0": the number behind the letters; "CPU" and its relatives are the host.
Result<std::uint32_t> backend_of(const std::string& buffer, std::uint32_t gpus) {
  if (to_lower(buffer).starts_with("cpu") || buffer.ends_with("_Host")) return gpus;
  const std::size_t digits = buffer.find_last_not_of("0123456789") + 1;
  const auto number = parse_u64(buffer.substr(digits));
  if (number && *number < gpus) return static_cast<std::uint32_t>(*number);
  return Error{
      Errc::invalid,
      fmt::format("--override-tensor: expected CPU or one of {} GPUs, found \"{}\"", gpus, buffer),
      "name the device as llama-server --list-devices does, and all devices with --device"};
}

struct Rule {
  std::regex pattern;
  std::uint32_t backend = 0;
};

Result<std::vector<Rule>> rules_of(const Options& options, std::uint32_t gpus) {
  constexpr std::size_t pattern_max = 4096;
  std::vector<Rule> rules;
  for (const Override& one : options.overrides) {
    HEADROOM_TRY(const std::uint32_t backend, backend_of(one.buffer, gpus));
    const Error wrong{Errc::invalid,
                      fmt::format("--override-tensor: expected a regular expression, found \"{}\"",
                                  one.pattern.substr(0, 80)),
                      "write it as in blk\\.(1|2)\\.ffn_.*_exps=CPU"};
    if (one.pattern.size() > pattern_max) return wrong;
    try {  // The standard library tells of a wrong expression in no other way.
      rules.push_back({std::regex(one.pattern), backend});
    } catch (const std::regex_error&) {
      return wrong;
    }
  }
  return rules;
}

bool matches(const Rule& rule, const std::string& name) {
  constexpr std::size_t name_max = 256;  // The library's own search goes as deep as a name is long.
  if (name.size() > name_max) return false;
  try {
    return std::regex_search(name, rule.pattern);
  } catch (const std::regex_error&) {  // Too much work for this name.
    return false;
  }
}

bool is_expert(std::string_view name) {
  return name.find(".ffn_") != std::string_view::npos &&
         (name.find("_exps") != std::string_view::npos ||
          name.find("_chexps") != std::string_view::npos);
}

std::uint32_t home_of(const Weight& weight, const Placement& placement) {
  if (weight.layer)
    return *weight.layer < placement.layer_backend.size() ? placement.layer_backend[*weight.layer]
                                                          : placement.cpu();
  // Only the embeddings of the input stay on the host, whatever is asked for.
  const bool is_input =
      weight.name.starts_with("token_embd") || weight.name.starts_with("per_layer_token_embd") ||
      weight.name.starts_with("position_embd") || weight.name.starts_with("token_types");
  return is_input ? placement.cpu() : placement.output_backend;
}

}  // namespace

Result<Placement> place(const Model& model, const Options& options, const std::vector<Gpu>& all) {
  Placement placement;
  placement.gpus = static_cast<std::uint32_t>(all.size());
  const std::uint64_t layers = model.layers.size();
  placement.gpu_layers =
      all.empty() ? 0 : std::min(options.gpu_layers.value_or(layers + 1), layers + 1);
  const std::uint64_t offered = layers + (build_of(options.build).output_first ? 1 : 0);
  const std::uint64_t first = offered - std::min(placement.gpu_layers, offered);
  const std::vector<float> points = split_points(options, all);
  const auto backend = [&](std::uint64_t layer) {
    if (layer < first || layer - first >= placement.gpu_layers) return placement.cpu();
    if (options.split_mode == SplitMode::none) return std::uint32_t{0};
    const float at = static_cast<float>(layer - first) / static_cast<float>(placement.gpu_layers);
    const auto found = std::upper_bound(points.begin(), points.end(), at) - points.begin();
    return std::min(static_cast<std::uint32_t>(found), placement.gpus - 1);
  };
  for (std::uint64_t i = 0; i < layers; ++i) placement.layer_backend.push_back(backend(i));
  placement.output_backend = backend(layers);
  HEADROOM_TRY(const std::vector<Rule> rules, rules_of(options, placement.gpus));
  for (const Weight& weight : model.weights) {
    std::uint32_t home = home_of(weight, placement);
    const bool spilled = weight.layer && *weight.layer < options.cpu_moe_layers;
    if (spilled && is_expert(weight.name)) home = placement.cpu();
    for (const Rule& rule : rules) {
      if (!matches(rule, weight.name)) continue;
      home = rule.backend;
      break;
    }
    placement.weight_backend.push_back(home);
  }
  placement.duplicates_embedding = model.is_tied() && placement.output_backend != placement.cpu();
  placement.has_overrides = !rules.empty() || options.cpu_moe_layers > 0;
  return placement;
}

}  // namespace headroom::estimate::llama
