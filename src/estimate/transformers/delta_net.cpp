// SPDX-License-Identifier: Apache-2.0
// Sources: transformers' modeling_qwen3_next.py and modeling_qwen3_5.py (…GatedDeltaNet,
// …RMSNormGated) and cache_utils.py (LinearAttentionLayer).
#include "estimate/transformers/delta_net.h"

#include <utility>
#include <vector>

#include "estimate/transformers/delta_rule.h"

namespace headroom::estimate::transformers {
namespace {

// What a layer makes of its input. Names of the forward hold all of it.
struct Projected {
  Tensor mixed;             // [batch, tokens, channels]
  Tensor gate;              // [batch, tokens, value_heads, value_dim]
  Tensor beta, step;        // [batch, tokens, value_heads]
  Tensor held, held_small;  // Joined: what the parts are views of.
  Tensor q, k;              // Joined: copies, to the end of the convolution.
};

Projected project_joined(Run& run, const DeltaNetLayer& layer, const Tensor& x) {
  const DeltaNet& shape = layer.shape;
  Tape& tape = run.tape;
  const std::uint64_t batch = x.shape[0], tokens = x.shape[1];
  const std::uint64_t groups = shape.key_heads, in_group = shape.value_heads / groups;
  Projected all;
  all.held = apply(run, *layer.qkv, x);
  all.held_small = apply(run, *layer.beta, x);
  const std::uint64_t values = in_group * shape.value_dim;
  const std::uint64_t width = 2 * shape.key_dim + 2 * values;
  const std::vector<Tensor> parts =
      ops::split_last(tape, Tape::view(all.held, {batch, tokens, groups, width}),
                      {shape.key_dim, shape.key_dim, values, values});
  const std::vector<Tensor> small =
      ops::split_last(tape, Tape::view(all.held_small, {batch, tokens, groups, 2 * in_group}),
                      {in_group, in_group});
  // One head of values for each of keys needs no copy, for it is a view.
  const auto heads = [&](const Tensor& part, const Shape& to, Name name) {
    return in_group == 1 ? Tape::view(part, to) : ops::copy(tape, part, to, name);
  };
  const Shape wide = {batch, tokens, shape.value_heads, shape.value_dim};
  const Shape row = {batch, tokens, shape.value_heads};
  Tensor v = heads(parts[2], wide, "v.heads");
  all.gate = heads(parts[3], wide, "z.heads");
  all.beta = heads(small[0], row, "b.heads");
  all.step = heads(small[1], row, "a.heads");
  const Shape keys = {batch, tokens, shape.keys()};
  all.q = ops::copy(tape, parts[0], keys, "q.rows");
  all.k = ops::copy(tape, parts[1], keys, "k.rows");
  const Shape rows = {batch, tokens, shape.values()};
  v = in_group == 1 ? ops::copy(tape, v, rows, "v.rows") : Tape::view(v, rows);
  all.mixed = ops::join(tape, {all.q, all.k, v}, {batch, tokens, shape.channels()}, "mixed_qkv");
  return all;
}

Projected project(Run& run, const DeltaNetLayer& layer, const Tensor& x) {
  if (layer.shape.joined) return project_joined(run, layer, x);
  Projected all;
  all.mixed = apply(run, *layer.qkv, x);
  all.gate = Tape::view(apply(run, *layer.gate, x),
                        {x.shape[0], x.shape[1], layer.shape.value_heads, layer.shape.value_dim});
  all.beta = apply(run, *layer.beta, x);
  all.step = apply(run, *layer.step, x);
  return all;
}

// -A_log.float().exp() · softplus(a.float() + dt_bias)
Tensor decay_of(Run& run, const DeltaNetLayer& layer, const Tensor& step) {
  Tape& tape = run.tape;
  const Tensor wide_a = ops::cast(tape, layer.a_log, Element::fp32, "A_log.fp32");
  const Tensor a = ops::scale(tape, ops::exp(tape, wide_a, "A_log.exp"), "A");
  const Tensor wide = ops::cast(tape, step, Element::fp32, "a.fp32");
  const Tensor sum = ops::add(tape, wide, layer.step_bias, "a.with_bias");
  return ops::mul(tape, ops::silu(tape, sum, "a.softplus"), a, "g");
}

// …RMSNormGated: the norm of each head, narrowed, times silu of the gate in fp32.
Tensor gated_norm(Run& run, const Tensor& weight, const Tensor& x, const Tensor& gate) {
  Tape& tape = run.tape;
  const Scope scope(tape, "norm");
  Tensor hidden = ops::cast(tape, x, Element::fp32, "fp32");
  const Tensor variance = ops::mean_last(tape, ops::square(tape, hidden, "squared"), "variance");
  hidden = ops::mul(tape, hidden, ops::rsqrt(tape, ops::scale(tape, variance, "eps"), "rsqrt"),
                    "normalized");
  hidden = ops::mul(tape, weight, ops::cast(tape, hidden, x.element, "narrow"), "scaled");
  hidden =
      ops::mul(tape, hidden,
               ops::silu(tape, ops::cast(tape, gate, Element::fp32, "gate.fp32"), "gate"), "gated");
  return ops::cast(tape, hidden, x.element, "output");
}

}  // namespace

DeltaNetLayer make_delta_net(Run& run, const Stack& stack) {
  DeltaNetLayer layer;
  const DeltaNet& shape = layer.shape = *stack.delta_net;
  const std::uint64_t hidden = stack.hidden;
  const auto part = [&](Name name, const Shape& of) {
    return run.tape.parameter(name, {of, run.weights()}, Component::weights, run.full());
  };
  layer.step_bias = part("dt_bias", {shape.value_heads});
  layer.a_log = part("A_log", {shape.value_heads});
  layer.conv.kernel = shape.kernel;
  layer.conv.weight = part("conv1d.weight", {shape.channels(), 1, shape.kernel});
  if (shape.joined) {
    layer.qkv =
        make_linear(run, "in_proj_qkvz", {shape.channels() + shape.values(), hidden}, false);
    layer.beta = make_linear(run, "in_proj_ba", {2 * shape.value_heads, hidden}, false);
  }
  layer.norm = part("norm.weight", {shape.value_dim});
  layer.out = make_linear(run, "out_proj", {hidden, shape.values()}, false);
  if (shape.joined) return layer;
  layer.qkv = make_linear(run, "in_proj_qkv", {shape.channels(), hidden}, false);
  layer.gate = make_linear(run, "in_proj_z", {shape.values(), hidden}, false);
  layer.beta = make_linear(run, "in_proj_b", {shape.value_heads, hidden}, false);
  layer.step = make_linear(run, "in_proj_a", {shape.value_heads, hidden}, false);
  return layer;
}

Tensor apply(Run& run, const DeltaNetLayer& layer, const Tensor& x, LayerCache* cache) {
  const DeltaNet& shape = layer.shape;
  Tape& tape = run.tape;
  const std::uint64_t batch = x.shape[0], tokens = x.shape[1];
  Projected in = project(run, layer, x);
  const Shape channels = {batch, shape.channels(), tokens};
  if (cache != nullptr && !cache->keys.defined())
    cache->keys =
        tape.empty("conv_states", {{batch, shape.channels(), shape.kernel}, in.mixed.element},
                   Component::kv_cache);
  in.mixed = convolve(run, layer.conv, Tape::view(in.mixed, channels));
  in.q = in.k = {};
  const std::vector<Tensor> parts =
      ops::split_last(tape, Tape::view(in.mixed, {batch, tokens, shape.channels()}),
                      {shape.keys(), shape.keys(), shape.values()});
  DeltaInput heads;
  const Shape keys = {batch, tokens, shape.key_heads, shape.key_dim};
  heads.q = Tape::view(parts[0], keys);
  heads.k = Tape::view(parts[1], keys);
  heads.v = Tape::view(parts[2], {batch, tokens, shape.value_heads, shape.value_dim});
  heads.beta = ops::sigmoid(tape, in.beta, "beta");
  heads.decay = decay_of(run, layer, in.step);
  Tensor state;
  if (cache != nullptr) state = cache->values;
  Tensor y = delta_rule(run, shape, heads, state);
  if (cache != nullptr && !cache->values.defined())
    cache->values = tape.empty("recurrent_states", state, Component::kv_cache);
  // In fp32 nothing was copied so far, and rows are.
  const Shape rows = {batch * tokens * shape.value_heads, shape.value_dim};
  y = y.element == Element::fp32 ? ops::copy(tape, y, rows, "core_attn_out.heads")
                                 : Tape::view(y, rows);
  y = gated_norm(run, layer.norm, y, Tape::view(in.gate, rows));
  return apply(run, *layer.out, Tape::view(y, {batch, tokens, shape.values()}));
}

}  // namespace headroom::estimate::transformers
