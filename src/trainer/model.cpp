// SPDX-License-Identifier: Apache-2.0
#include "trainer/model.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/text.h"
#include "trainer/projections.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {
namespace {

using allocator::Component;
using estimate::ModelConfig;
using estimate::Target;

std::int64_t signed_size(std::uint64_t size) {
  return static_cast<std::int64_t>(size);
}

constexpr const char* head_name = "lm_head.weight";

std::string embedding_name(const ModelConfig& config) {
  return config.is_gpt2() ? "transformer.wte.weight" : "model.embed_tokens.weight";
}

bool is_adapted(const ModelOptions& options, Target target) {
  if (!options.lora) return false;
  const auto& targets = options.lora->targets;
  return std::find(targets.begin(), targets.end(), target) != targets.end();
}

std::string projection_name(const ModelConfig& config, Target target) {
  if (!config.is_gpt2()) return fmt::format("{}_proj", to_string(target));
  return target == Target::q ? "c_attn" : target == Target::up ? "c_fc" : "c_proj";
}

// As PEFT names the module that an adapter is on.
std::string adapted_name(const ModelConfig& config, Target target) {
  if (!is_in_fused(config, target)) return projection_name(config, target);
  return target < Target::o ? "qkv_proj" : "gate_up_proj";
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
        shared && !adapted(other) ? module_name(config, target) : adapted_name(config, target);
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
                                 options_.tensors(options_.dtype), config.rotary);
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
  base_.push_back(
      {name, at::empty(shape, options_.tensors(options_.dtype)), {}, !options_.lora.has_value()});
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
    stored_.push_back({name, at::empty({rows, hidden}, options_.tensors(options_.dtype))});
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
    if (config_.fused && target == Target::v)
      layer.qkv_adapter = add_adapter(prefix + "self_attn.qkv_proj", Target::q);
    if (config_.fused && target == Target::up)
      layer.gate_up_adapter = add_adapter(prefix + "mlp.gate_up_proj", Target::gate);
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
  const bool in_fused = is_in_fused(config_, target);
  linear.stored_by_input = config_.is_gpt2() && !options_.quantised;
  linear.weight =
      in_fused ? add_rows(name + ".weight", out) : add_matrix(name + ".weight", out, in);
  if (has_bias(config_, target)) linear.bias = add(name + ".bias", {out});
  linear.adapter = in_fused ? std::nullopt : add_adapter(name, target);
  linear.shares_adapter = in_fused && is_adapted(options_, target);
}

// On the module of that name, if the job wants one there.
std::optional<ops::Adapter> Model::add_adapter(const std::string& name, Target target) {
  if (!is_adapted(options_, target)) return std::nullopt;
  const LoraOptions& lora = *options_.lora;
  const auto [out, in] = *adapter_shape(config_, target);
  const TagScope scope(Component::adapters);
  const at::TensorOptions tensors = options_.tensors(lora.dtype);
  adapters_.push_back({name + ".lora_A.weight", at::empty({lora.rank, in}, tensors), {}, true});
  Parameter* a = &adapters_.back();
  adapters_.push_back({name + ".lora_B.weight", at::empty({out, lora.rank}, tensors), {}, true});
  return ops::Adapter{a, &adapters_.back(), lora.alpha / static_cast<double>(lora.rank),
                      lora.dropout};
}

}  // namespace headroom::trainer
