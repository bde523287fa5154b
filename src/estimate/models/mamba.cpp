// SPDX-License-Identifier: Apache-2.0
// Mamba and Falcon-Mamba: layers of selective state spaces alone. Sources: transformers,
// models/{mamba,falcon_mamba}.
#include <algorithm>
#include <memory>

#include "base/document.h"
#include "estimate/models/families.h"
#include "estimate/models/llama.h"
#include "estimate/models/state_space.h"

namespace headroom::estimate {
namespace {

std::uint64_t step_rank(ConfigReader& config, std::uint64_t hidden) {
  constexpr std::uint64_t of_rank = 16;  // hidden_size by "auto"
  const std::uint64_t automatic = (hidden + of_rank - 1) / of_rank;
  const Json* given = config.find({"time_step_rank"});
  if (given != nullptr && given->is_string() && *given == "auto") return automatic;
  return config.size_or({"time_step_rank"}, widths, automatic);
}

}  // namespace

void parse_mamba(ConfigReader& config, Architecture& out) {
  Stack& stack = out.stacks.emplace_back();
  stack.hidden = config.size({"hidden_size"}, widths, 768);
  stack.layers = config.size({"num_hidden_layers", "n_layer"}, layer_counts, 32);
  auto shape = std::make_shared<StateSpace>();
  const std::uint64_t expand = config.size_or({"expand"}, {1, 64}, 2);
  shape->inner =
      config.size_or({"intermediate_size"}, widths, std::min(widths.max, expand * stack.hidden));
  shape->state = config.size_or({"state_size"}, head_counts, 16);
  shape->kernel = config.size_or({"conv_kernel"}, {1, 256}, 4);
  shape->step_rank = step_rank(config, stack.hidden);
  shape->bias = config.flag_or({"use_bias"}, false);
  shape->conv_bias = config.flag_or({"use_conv_bias"}, true);
  shape->wide_residual = config.flag_or({"residual_in_fp32"}, true);
  stack.state_space = shape;
  stack.positions = Positions::none;
  stack.norm.eps = config.positive_or({"layer_norm_epsilon"}, 1e-5);
  stack.mlp.activation = config.activation_or({"hidden_act"}, Activation::silu);
  if (stack.mlp.activation != Activation::silu)
    config.fail("hidden_act", "silu", Errc::unsupported);
  // Read by what counts keys and values: there are none.
  stack.attention.heads = stack.attention.kv_heads = stack.attention.head_dim = 0;
  read_vocabulary(config, out, stack, 50280, /*tied=*/true);
  out.head.widens = true;
  ModuleNames& names = stack.names;
  names.layers = "backbone.layers";
  names.attention = "mixer";
  names.first_norm = "norm";
  names.embedding = "backbone.embeddings";
  names.final_norm = "backbone.norm_f";
  if (config.flag_or({"use_mambapy"}, false))
    config.note("use_mambapy: planned as the plain scan, not as mamba.py's parallel one");
}

void parse_falcon_mamba(ConfigReader& config, Architecture& out) {
  parse_mamba(config, out);
  auto shape = std::make_shared<StateSpace>(*out.stacks.back().state_space);
  shape->norms_parts = true;
  out.stacks.back().state_space = shape;
}

}  // namespace headroom::estimate
