// SPDX-License-Identifier: Apache-2.0
#include "trainer/model.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/text.h"
#include "estimate/headroom_quantised.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {
namespace {

using allocator::Component;
using estimate::ModelConfig;
using estimate::Target;

constexpr std::array<Target, projection_count> all_targets = {
    Target::q, Target::k, Target::v, Target::o, Target::gate, Target::up, Target::down};

std::int64_t signed_size(std::uint64_t size) {
  return static_cast<std::int64_t>(size);
}

struct ProjectionShape {
  std::int64_t out = 0;
  std::int64_t in = 0;
};

ProjectionShape projection_shape(const ModelConfig& config, Target target) {
  const std::int64_t hidden = signed_size(config.hidden);
  const std::int64_t inner = signed_size(config.intermediate);
  const std::int64_t query = signed_size(config.query_size());
  const std::int64_t kv = signed_size(config.kv_size());
  switch (target) {
    case Target::q:
      return {config.is_gpt2() ? query + 2 * kv : query, hidden};
    case Target::k:
    case Target::v:
      return {kv, hidden};
    case Target::o:
      return {hidden, query};
    case Target::gate:
    case Target::up:
      return {inner, hidden};
    case Target::down:
      return {hidden, inner};
  }
  return {};
}

// In GPT-2, q stands for c_attn, which is k and v as well.
bool has_projection(const ModelConfig& config, Target target) {
  return !config.is_gpt2() ||
         (target != Target::k && target != Target::v && target != Target::gate);
}

bool has_bias(const ModelConfig& config, Target target) {
  if (config.is_gpt2()) return true;
  if (target == Target::o) return config.o_bias;
  return target < Target::o ? config.qkv_bias : config.mlp_bias;
}

constexpr const char* head_name = "lm_head.weight";

std::string embedding_name(const ModelConfig& config) {
  return config.is_gpt2() ? "transformer.wte.weight" : "model.embed_tokens.weight";
}

std::string projection_name(const ModelConfig& config, Target target) {
  if (!config.is_gpt2()) return fmt::format("{}_proj", to_string(target));
  return target == Target::q ? "c_attn" : target == Target::up ? "c_fc" : "c_proj";
}

}  // namespace

std::string module_name(const ModelConfig& config, Target target) {
  const char* attention = config.is_gpt2() ? "attn." : "self_attn.";
  return (target <= Target::o ? attention : "mlp.") + projection_name(config, target);
}

std::vector<std::string> adapted_modules(const ModelConfig& config,
                                         const std::vector<Target>& targets) {
  const auto adapted = [&](Target target) {
    return std::find(targets.begin(), targets.end(), target) != targets.end();
  };
  std::vector<std::string> names;
  for (const Target target : targets) {
    if (!has_projection(config, target)) continue;
    // GPT-2's o and down have one name: alone, each of them needs the module around it.
    const Target other = target == Target::o ? Target::down : Target::o;
    const bool shared = config.is_gpt2() && (target == Target::o || target == Target::down);
    std::string name =
        shared && !adapted(other) ? module_name(config, target) : projection_name(config, target);
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(std::move(name));
  }
  return names;
}

Model::Model(const ModelConfig& config, ModelOptions options)
    : config_(config),
      options_(std::move(options)),
      part_(options_.part.value_or(estimate::whole_model(config.layers))) {
  const std::int64_t hidden = signed_size(config.hidden);
  const std::int64_t vocabulary = signed_size(config.vocabulary);
  {
    const TagScope scope(Component::weights);
    if (part_.is_first()) embedding_ = add(embedding_name(config), {vocabulary, hidden});
    if (config.is_gpt2() && part_.is_first())
      positions_ = add("transformer.wpe.weight", {signed_size(config.position_rows), hidden});
    add_layers();
    if (part_.is_last()) {
      final_norm_ = add_norm(config.is_gpt2() ? "transformer.ln_f" : "model.norm");
      head_ = config.tied && part_.is_first()
                  ? embedding_
                  : add(config.tied ? embedding_name(config) : head_name, {vocabulary, hidden});
      head_->is_copy = stored_.back().is_copy = config.tied && !part_.is_first();
    }
  }
  if (!config.is_gpt2())
    rotary_ = ops::rotary_tables(options_.longest, signed_size(config.head_dim), config.rope_theta,
                                 options_.dtype);
}

void Model::add_layers() {
  layers_.reserve(part_.layers());
  for (std::uint64_t i = part_.first_layer; i < part_.last_layer; ++i) {
    const std::size_t base = base_.size(), adapters = adapters_.size();
    if (config_.is_gpt2()) {
      add_gpt2_layer(signed_size(i));
    } else {
      add_layer(signed_size(i));
    }
    base_in_layer_ = base_.size() - base;
    adapters_in_layer_ = adapters_.size() - adapters;
  }
}

bool Model::is_elsewhere(const std::string& name) const {
  const std::string layers = config_.is_gpt2() ? "transformer.h." : "model.layers.";
  if (name.starts_with(layers)) {
    const auto layer =
        parse_u64(name.substr(layers.size(), name.find('.', layers.size()) - layers.size()));
    return layer && *layer < config_.layers && !part_.has_layer(*layer);
  }
  const bool is_table = name == embedding_name(config_) || name == "transformer.wpe.weight";
  if (is_table) return !part_.is_first();
  const bool is_norm = name.starts_with(config_.is_gpt2() ? "transformer.ln_f." : "model.norm.");
  return (is_norm || name == head_name) && !part_.is_last();
}

ops::Norm Model::add_norm(const std::string& name) {
  const std::int64_t hidden = signed_size(config_.hidden);
  ops::Norm norm{add(name + ".weight", {hidden})};
  if (config_.is_gpt2()) norm.bias = add(name + ".bias", {hidden});
  norm.unit_offset = config_.gemma;
  return norm;
}

Parameter* Model::add(const std::string& name, at::IntArrayRef shape) {
  base_.push_back({name, at::empty(shape, options_.dtype), {}, !options_.lora.has_value()});
  stored_.push_back({name, base_.back().value});
  return &base_.back();
}

// Allocates the matrix whose rows the weights of `targets` are, in this order.
void Model::begin_fused(const std::string& name, std::initializer_list<Target> targets) {
  std::int64_t rows = 0;
  for (const Target target : targets) rows += projection_shape(config_, target).out;
  const std::int64_t hidden = signed_size(config_.hidden);
  if (options_.quantised) {
    stored_.push_back(make_quantised(name, rows, hidden));
  } else {
    stored_.push_back({name, at::empty({rows, hidden}, options_.dtype)});
  }
  next_row_ = 0;
}

// The next rows of the matrix begun last.
Parameter* Model::add_rows(const std::string& name, std::int64_t rows) {
  const Stored& whole = stored_.back();
  base_.push_back({name, {}, {}, !options_.lora.has_value()});
  if (whole.quantised) {
    base_.back().quantised = {whole.quantised, next_row_, rows};
  } else {
    base_.back().value = whole.value.narrow(0, next_row_, rows);
  }
  next_row_ += rows;
  return &base_.back();
}

Model::Stored Model::make_quantised(const std::string& name, std::int64_t out,
                                    std::int64_t in) const {
  return {name,
          {},
          false,
          std::make_shared<QuantisedMatrix>(*options_.quantised, out, in, options_.dtype)};
}

// The weight of one projection, [out, in]; what is not quantised is [in, out] in GPT-2.
Parameter* Model::add_matrix(const std::string& name, std::int64_t out, std::int64_t in) {
  if (!options_.quantised) {
    return config_.is_gpt2() ? add(name, {in, out}) : add(name, {out, in});
  }
  stored_.push_back(make_quantised(name, out, in));
  base_.push_back({name, {}, {}, false});
  base_.back().quantised = {stored_.back().quantised, 0, out};
  return &base_.back();
}

void Model::add_layer(std::int64_t index) {
  const std::string prefix = fmt::format("model.layers.{}.", index);
  Layer& layer = layers_.emplace_back();
  for (const Target target : all_targets) {
    if (config_.fused && target == Target::q)
      begin_fused(prefix + "self_attn.qkv_proj.weight", {Target::q, Target::k, Target::v});
    if (config_.fused && target == Target::gate)
      begin_fused(prefix + "mlp.gate_up_proj.weight", {Target::gate, Target::up});
    add_projection(layer, target, prefix + module_name(config_, target));
    if (target != Target::o || !config_.qk_norm) continue;
    layer.q_norm = add(prefix + "self_attn.q_norm.weight", {signed_size(config_.head_dim)});
    layer.k_norm = add(prefix + "self_attn.k_norm.weight", {signed_size(config_.head_dim)});
  }
  layer.gelu_gate = config_.gemma;
  layer.input_norm = add_norm(prefix + "input_layernorm");
  if (!config_.norms_around) {
    layer.mlp_norm = add_norm(prefix + "post_attention_layernorm");
    return;
  }
  layer.attention_out_norm = add_norm(prefix + "post_attention_layernorm");
  layer.mlp_norm = add_norm(prefix + "pre_feedforward_layernorm");
  layer.mlp_out_norm = add_norm(prefix + "post_feedforward_layernorm");
}

void Model::add_gpt2_layer(std::int64_t index) {
  const std::string prefix = fmt::format("transformer.h.{}.", index);
  Layer& layer = layers_.emplace_back();
  const auto add_both = [&](Target first, Target second) {
    for (const Target target : {first, second})
      add_projection(layer, target, prefix + module_name(config_, target));
  };
  layer.input_norm = add_norm(prefix + "ln_1");
  add_both(Target::q, Target::o);
  layer.mlp_norm = add_norm(prefix + "ln_2");
  add_both(Target::up, Target::down);
}

void Model::add_projection(Layer& layer, Target target, const std::string& name) {
  const auto [out, in] = projection_shape(config_, target);
  ops::Linear& linear = layer[target];
  const bool in_fused = config_.fused && target != Target::o && target != Target::down;
  linear.stored_by_input = config_.is_gpt2() && !options_.quantised;
  linear.weight =
      in_fused ? add_rows(name + ".weight", out) : add_matrix(name + ".weight", out, in);
  if (has_bias(config_, target)) linear.bias = add(name + ".bias", {out});
  if (!options_.lora) return;
  const LoraOptions& lora = *options_.lora;
  if (std::find(lora.targets.begin(), lora.targets.end(), target) == lora.targets.end()) return;
  const TagScope scope(Component::adapters);
  adapters_.push_back({name + ".lora_A.weight", at::empty({lora.rank, in}, lora.dtype), {}, true});
  Parameter* a = &adapters_.back();
  adapters_.push_back({name + ".lora_B.weight", at::empty({out, lora.rank}, lora.dtype), {}, true});
  linear.adapter =
      ops::Adapter{a, &adapters_.back(), lora.alpha / static_cast<double>(lora.rank), lora.dropout};
}

namespace {

// What lies outside of layers, of the part that there is: how often each is there.
struct Outside {
  std::uint64_t tables = 0;  // Embedding and head.
  std::uint64_t positions = 0;
  std::uint64_t norms = 0;
};

Outside outside_of(const ModelConfig& config, const estimate::StagePart& part) {
  const bool own_head = part.is_last() && (!config.tied || !part.is_first());
  return {.tables = (part.is_first() ? 1U : 0U) + (own_head ? 1U : 0U),
          .positions = part.is_first() && config.is_gpt2() ? 1U : 0U,
          .norms = part.is_last() ? 1U : 0U};
}

std::uint64_t numbers_of_norm(const ModelConfig& config) {
  return (config.is_gpt2() ? 2 : 1) * config.hidden;
}

// Of the weights of a part of the model.
std::uint64_t count_numbers(const ModelConfig& config, const estimate::StagePart& part) {
  const auto outside = [&](const estimate::StagePart& of) {
    const Outside all = outside_of(config, of);
    return all.tables * config.vocabulary * config.hidden +
           all.positions * config.position_rows * config.hidden +
           all.norms * numbers_of_norm(config);
  };
  const std::uint64_t layers = config.parameters() - outside(estimate::whole_model(config.layers));
  return outside(part) + layers / config.layers * part.layers();
}

// The bytes that a layer's matrices take in place of those in the dtype of the weights.
struct MatrixBytes {
  std::uint64_t plain = 0;
  std::uint64_t quantised = 0;
};

MatrixBytes matrix_bytes(const ModelConfig& config, const ModelOptions& options) {
  MatrixBytes bytes;
  std::uint64_t fused_rows = 0;  // Of projections that share the matrix of a later one.
  for (const Target target : all_targets) {
    if (!has_projection(config, target)) continue;
    const auto [out, in] = projection_shape(config, target);
    bytes.plain += static_cast<std::uint64_t>(out * in) * c10::elementSize(options.dtype);
    const std::uint64_t rows = fused_rows + static_cast<std::uint64_t>(out);
    const bool is_shared = target < Target::v || target == Target::gate;
    fused_rows = config.fused && is_shared ? rows : 0;
    if (fused_rows > 0) continue;
    bytes.quantised +=
        estimate::quantised_sizes(*options.quantised, rows, static_cast<std::uint64_t>(in))
            .total_bytes;
  }
  return bytes;
}

}  // namespace

ParameterBytes parameter_bytes(const ModelConfig& config, const ModelOptions& options) {
  ParameterBytes bytes;
  const estimate::StagePart part = options.part.value_or(estimate::whole_model(config.layers));
  bytes.weights = count_numbers(config, part) * c10::elementSize(options.dtype);
  if (options.quantised) {
    const MatrixBytes matrices = matrix_bytes(config, options);
    bytes.weights += part.layers() * matrices.quantised;
    bytes.weights -= part.layers() * matrices.plain;
  }
  if (!options.lora) return bytes;
  for (const Target target : options.lora->targets) {
    if (!has_projection(config, target)) continue;
    const auto [out, in] = projection_shape(config, target);
    bytes.adapters += part.layers() * static_cast<std::uint64_t>(options.lora->rank * (out + in)) *
                      c10::elementSize(options.lora->dtype);
  }
  return bytes;
}

std::uint64_t factored_numbers(const ModelConfig& config, const ModelOptions& options) {
  const estimate::StagePart part = options.part.value_or(estimate::whole_model(config.layers));
  std::uint64_t layer = 0;
  if (options.lora) {
    for (const Target target : options.lora->targets) {
      if (!has_projection(config, target)) continue;
      const auto [out, in] = projection_shape(config, target);
      layer += static_cast<std::uint64_t>(out + in + 2 * options.lora->rank);
    }
    return part.layers() * layer;
  }
  for (const Target target : all_targets) {
    if (!has_projection(config, target)) continue;
    const auto [out, in] = projection_shape(config, target);
    layer += static_cast<std::uint64_t>(out + in);
    if (has_bias(config, target)) layer += static_cast<std::uint64_t>(out);
  }
  const std::uint64_t norm = numbers_of_norm(config);
  layer += (config.norms_around ? 4 : 2) * norm + (config.qk_norm ? 2 * config.head_dim : 0);
  const Outside outside = outside_of(config, part);
  return part.layers() * layer + outside.norms * norm +
         outside.positions * (config.position_rows + config.hidden) +
         outside.tables * (config.vocabulary + config.hidden);
}

}  // namespace headroom::trainer
