// SPDX-License-Identifier: Apache-2.0
#include "estimate/headroom_parameters.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimate/headroom_quantised.h"

namespace headroom::estimate::ours {
namespace {

class Builder {
 public:
  Builder(Tape& tape, const Job& job, const ModelConfig& model, Parameters& parameters)
      : tape_(tape),
        job_(job),
        model_(model),
        to_(parameters),
        lora_(job.method.kind != MethodKind::full),
        quantised_(is_quantised(job.method.base)) {}

  Parameter* add(Name name, Shape shape) {
    const Meta meta{shape, element_of(job_.compute.dtype)};
    to_.base.push_back({tape_.empty(name, meta, Component::weights), {}, !lora_});
    return &to_.base.back();
  }

  void add_layer(std::uint64_t index) {
    const Scope scope(tape_, "model.layers", index);
    Layer& layer = to_.layers.emplace_back();
    layer.window = model_.window(index);
    const std::uint64_t h = model_.hidden;
    const std::uint64_t i = model_.intermediate;
    add_projection(layer, Target::q, model_.query_size(), h, model_.qkv_bias);
    add_projection(layer, Target::k, model_.kv_size(), h, model_.qkv_bias);
    add_projection(layer, Target::v, model_.kv_size(), h, model_.qkv_bias);
    add_projection(layer, Target::o, h, model_.query_size(), model_.o_bias);
    if (model_.qk_norm) layer.q_norm = add("q_norm.weight", {model_.head_dim});
    if (model_.qk_norm) layer.k_norm = add("k_norm.weight", {model_.head_dim});
    add_projection(layer, Target::gate, i, h, model_.mlp_bias);
    add_projection(layer, Target::up, i, h, model_.mlp_bias);
    add_projection(layer, Target::down, h, i, model_.mlp_bias);
    add_shared_adapter(layer.qkv_adapter, layer[Target::q], "qkv_proj",
                       {model_.query_size() + 2 * model_.kv_size(), h});
    add_shared_adapter(layer.gate_up_adapter, layer[Target::gate], "gate_up_proj", {2 * i, h});
    layer.input_norm = add_norm("input_layernorm");
    layer.gelu_gate = model_.gemma;
    if (!model_.norms_around) {
      layer.mlp_norm = add_norm("post_attention_layernorm");
      return;
    }
    layer.attention_out_norm = add_norm("post_attention_layernorm");
    layer.mlp_norm = add_norm("pre_feedforward_layernorm");
    layer.mlp_out_norm = add_norm("post_feedforward_layernorm");
  }

  void add_gpt2_layer(std::uint64_t index) {
    const Scope scope(tape_, "transformer.h", index);
    Layer& layer = to_.layers.emplace_back();
    const std::uint64_t h = model_.hidden;
    layer.input_norm = add_norm("ln_1");
    add_projection(layer, Target::q, model_.query_size() + 2 * model_.kv_size(), h, true);
    add_projection(layer, Target::o, h, model_.query_size(), true);
    layer.mlp_norm = add_norm("ln_2");
    add_projection(layer, Target::up, model_.intermediate, h, true);
    add_projection(layer, Target::down, h, model_.intermediate, true);
  }

  Norm add_norm(Name name) {
    Norm norm{add(name + ".weight", {model_.hidden})};
    if (model_.is_gpt2()) norm.bias = add(name + ".bias", {model_.hidden});
    return norm;
  }

 private:
  // trainer/model.cpp, projection_name.
  std::string name_of(Target target) const {
    if (!model_.is_gpt2()) return fmt::format("{}_proj", to_string(target));
    return target == Target::q ? "c_attn" : target == Target::up ? "c_fc" : "c_proj";
  }

  void add_projection(Layer& layer, Target target, std::uint64_t out, std::uint64_t in, bool bias) {
    const Name name = tape_.intern(name_of(target));
    Linear& linear = layer.projections[static_cast<std::size_t>(target)];
    linear.name = name;
    linear.out = out;
    linear.in = in;
    linear.quantised = quantised_;
    if (quantised_) {
      linear.weight = add_quantised(name, target, out, in);
    } else {
      linear.weight = add(name + ".weight", model_.is_gpt2() ? Shape{in, out} : Shape{out, in});
    }
    if (bias) linear.bias = add(name + ".bias", {out});
    const auto& targets = job_.method.targets;
    if (!lora_ || std::find(targets.begin(), targets.end(), target) == targets.end()) return;
    if (model_.fused && target != Target::o && target != Target::down) {
      linear.shares_adapter = true;
      return;
    }
    linear.lora_a = add_adapter(name + ".lora_A.weight", {job_.method.rank, in});
    linear.lora_b = add_adapter(name + ".lora_B.weight", {out, job_.method.rank});
  }

  // trainer/quantised_matrix.h. Fused projections share the matrix of their first one.
  Parameter* add_quantised(Name name, Target target, std::uint64_t out, std::uint64_t in) {
    if (model_.fused && target == Target::q) out += 2 * model_.kv_size();
    if (model_.fused && target == Target::gate) out += model_.intermediate;
    const bool shares = target == Target::k || target == Target::v || target == Target::up;
    if (model_.fused && shares) return fused_;
    const WeightFormat format = job_.method.base;
    const QuantisedSizes sizes = quantised_sizes(format, out, in);
    const Element scale = format == WeightFormat::nf4_dq ? Element::uint8 : Element::fp32;
    fused_ = hold(name + ".weight", {{sizes.packed_bytes, 1}, Element::uint8});
    hold(name + ".absmax", {{sizes.scales}, scale});
    if (sizes.nested > 0) hold(name + ".nested_absmax", {{sizes.nested}, Element::fp32});
    return fused_;
  }

  Parameter* hold(Name name, const Meta& meta) {
    to_.base.push_back({tape_.empty(name, meta, Component::weights), {}, false});
    return &to_.base.back();
  }

  // Of projections that are rows of one matrix, if the job wants it.
  void add_shared_adapter(Linear& adapter, const Linear& first, Name name, Shape shape) {
    if (!first.shares_adapter) return;
    adapter.name = name;
    adapter.lora_a = add_adapter(name + ".lora_A.weight", {job_.method.rank, shape[1]});
    adapter.lora_b = add_adapter(name + ".lora_B.weight", {shape[0], job_.method.rank});
  }

  Parameter* add_adapter(Name name, Shape shape) {
    const Meta meta{shape, element_of(job_.method.adapter_dtype)};
    to_.adapters.push_back({tape_.empty(name, meta, Component::adapters), {}, true});
    return &to_.adapters.back();
  }

  Tape& tape_;
  const Job& job_;
  const ModelConfig& model_;
  Parameters& to_;
  bool lora_;
  bool quantised_;
  Parameter* fused_ = nullptr;  // The quantised matrix that was added last.
};

}  // namespace

bool Layer::any_trains(std::initializer_list<Target> targets) const {
  return std::any_of(targets.begin(), targets.end(),
                     [this](Target t) { return (*this)[t].trains(); });
}

bool Layer::attention_trains() const {
  return input_norm.weight->trainable || any_trains({Target::q, Target::k, Target::v, Target::o});
}

bool Layer::mlp_trains() const {
  return mlp_norm.weight->trainable || any_trains({Target::gate, Target::up, Target::down});
}

Parameters::Parameters(Tape& tape, const Job& job, const ModelConfig& model,
                       const StagePart& part) {
  Builder builder(tape, job, model, *this);
  const bool gpt2 = model.is_gpt2();
  const auto add_table = [&] {
    return builder.add(gpt2 ? Name("transformer.wte.weight") : Name("model.embed_tokens.weight"),
                       {model.vocabulary, model.hidden});
  };
  if (part.is_first()) embedding = add_table();
  if (gpt2 && part.is_first())
    positions = builder.add("transformer.wpe.weight", {model.position_rows, model.hidden});
  layers.reserve(part.layers());
  for (std::uint64_t i = part.first_layer; i < part.last_layer; ++i) {
    if (gpt2) {
      builder.add_gpt2_layer(i);
    } else {
      builder.add_layer(i);
    }
  }
  if (!part.is_last()) return;
  final_norm = builder.add_norm(gpt2 ? Name("transformer.ln_f") : Name("model.norm"));
  if (!model.tied) {
    head = builder.add("lm_head.weight", {model.vocabulary, model.hidden});
  } else {
    head = part.is_first() ? embedding : add_table();
  }
}

}  // namespace headroom::estimate::ours
