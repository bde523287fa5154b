// SPDX-License-Identifier: Apache-2.0
// Sources: transformers' modeling_llama.py (rotate_half, repeat_kv, eager_attention_forward),
// modeling_t5.py, cache_utils.py (DynamicCache); at::_scaled_dot_product_attention_math.
#include "estimate/transformers/attention.h"

#include <algorithm>
#include <utility>

#include "estimate/transformers/latent.h"

namespace headroom::estimate::transformers {
namespace {

Tensor as_heads(const Tensor& x, std::uint64_t heads, std::uint64_t head_dim) {
  return Tape::view(x, {x.shape[0], heads, x.shape[1], head_dim});
}

// nn.MultiheadAttention turns [batch, tokens] around; the product copies what it is given, and q, k
// and v are copied out of its result together (torch/nn/functional.py, _in_projection_packed).
Tensor project_packed(Run& run, const Linear& linear, const Tensor& x) {
  const Tensor input = run.autocast(x, linear.name + ".narrow");
  const Tensor turned = ops::copy(run.tape, input, input.shape, linear.name + ".input");
  return ops::relayout(run.tape, apply(run, linear, turned), linear.name + ".contiguous");
}

// Each head's query stands beside its gate, which is copied out.
void split_gate(Run& run, const AttentionShape& shape, Qkv& heads) {
  const std::uint64_t batch = heads.q.shape[0], tokens = heads.q.shape[1];
  const Tensor both = Tape::view(heads.q, {batch, tokens, shape.heads, 2 * shape.head_dim});
  const std::vector<Tensor> parts =
      ops::split_last(run.tape, both, {shape.head_dim, shape.head_dim});
  const Shape rows = {batch, tokens, shape.query_size()};
  heads.gate = ops::copy(run.tape, parts[1], rows, "gate");
  heads.q = Tape::view(parts[0], rows);
}

// `known`: keys and values of what is looked at are in the cache.
Qkv project(Run& run, const AttentionLayer& layer, const AttentionInput& input, bool known) {
  const AttentionShape& shape = layer.shape;
  const Tensor& x = input.x;
  Qkv heads;
  if (layer.qkv) {
    const Tensor all =
        shape.multihead ? project_packed(run, *layer.qkv, x) : apply(run, *layer.qkv, x);
    const auto part = [&](std::uint64_t size, bool joins) {
      // unbind's gradients are stacked once for the three.
      if (joins || !shape.by_image) return ops::narrow_last(run.tape, all, size);
      return Tape::view(all, {all.shape[0], all.shape[1], size});
    };
    heads.q = part(shape.query_size(), true);
    if (shape.indexes_heads) {
      const Shape one = {all.shape[0], all.shape[1], shape.kv_size()};
      heads.k = ops::take(run.tape, all, one, "k.indexed");
      heads.v = ops::take(run.tape, all, one, "v.indexed");
    } else {
      heads.k = part(shape.kv_size(), false);
      heads.v = part(shape.kv_size(), false);
    }
  } else {
    heads.q = apply(run, *layer.q, x);
    if (shape.gated) split_gate(run, shape, heads);
    if (!known) {
      heads.k = apply(run, *layer.k, input.memory.value_or(x));
      heads.v = apply(run, *layer.v, input.memory.value_or(x));
    }
  }
  heads.q = as_heads(heads.q, shape.heads, shape.head_dim);
  if (known) {
    heads.k = input.cache->keys;
    heads.v = input.cache->values;
    return heads;
  }
  heads.k = as_heads(heads.k, shape.kv_heads, shape.head_dim);
  heads.v = as_heads(heads.v, shape.kv_heads, shape.head_dim);
  return heads;
}

Tensor norm_heads(Run& run, const AttentionShape& shape, const NormWeights& norm, const Tensor& x) {
  if (!shape.qk_norm_whole) return apply(run, norm, x);
  const Tensor rows = Tape::view(x, {x.shape[0], x.shape[2], x.shape[1] * x.shape[3]});
  return Tape::view(apply(run, norm, rows), x.shape);
}

bool turns_whole(const AttentionShape& shape, const Shared& shared) {
  return shared.cos->shape.back() == shape.head_dim;
}

// gpt-oss: both halves by angles of half a head, and joined.
Tensor rotate_halves(Run& run, const Shared& shared, const Tensor& x) {
  Tape& tape = run.tape;
  const std::uint64_t half = x.shape.back() / 2;
  const Tensor first = ops::narrow_last(tape, x, half);
  const Tensor second = ops::narrow_last(tape, x, half);
  const auto turned = [&](const Tensor& a, const Tensor& b) {
    return ops::add(tape, ops::mul(tape, a, *shared.cos, "cos"),
                    ops::mul(tape, b, *shared.sin, "sin"), "turned");
  };
  const Tensor left = turned(first, second);
  return ops::concat_last(tape, left, turned(second, first), "embedded");
}

// x · cos + rotate_half(x) · sin, on the part of each head that turns.
Tensor rotate(Run& run, const AttentionShape& shape, const Shared& shared, const Tensor& x) {
  if (shape.half_angles) return rotate_halves(run, shared, x);
  Tape& tape = run.tape;
  const auto width = shared.cos->shape.back();
  const bool whole = turns_whole(shape, shared);
  const Tensor part = whole ? x : ops::narrow_last(tape, x, width);
  const Tensor by_cos = ops::mul(tape, part, *shared.cos, "cos");
  Tensor turned;
  {
    const Tensor first = ops::narrow_last(tape, part, width / 2);
    const Tensor second = ops::narrow_last(tape, part, width - width / 2);
    turned = ops::concat_last(tape, ops::scale(tape, second, "negated"), first, "rotated");
  }
  const Tensor by_sin = ops::mul(tape, turned, *shared.sin, "sin");
  turned = {};
  Tensor embedded = ops::add(tape, by_cos, by_sin, "embedded");
  if (whole) return embedded;
  const Tensor rest = ops::narrow_last(tape, x, shape.head_dim - width);
  return ops::concat_last(tape, embedded, rest, "whole");
}

// The same in fp32, whatever the type of q and k (apply_rotary_pos_emb_vision; modeling_cohere.py).
void rotate_wide(Run& run, const AttentionShape& shape, const Shared& shared, Qkv& heads) {
  const Tensor q = ops::cast(run.tape, heads.q, Element::fp32, "q.fp32");
  const Tensor k = ops::cast(run.tape, heads.k, Element::fp32, "k.fp32");
  const Tensor turned_q = rotate(run, shape, shared, q);
  const Tensor turned_k = rotate(run, shape, shared, k);
  heads.q = ops::cast(run.tape, turned_q, heads.q.element, "q.embedded");
  heads.k = ops::cast(run.tape, turned_k, heads.k.element, "k.embedded");
}

// Liger's kernel turns q and k where they are, and their gradients; parts of one product are copied
// for it (ops/rope.py).
void turn_in_place(Run& run, const AttentionShape& shape, Qkv& heads) {
  if (!shape.fused_qkv) return;
  heads.q = ops::copy(run.tape, heads.q, heads.q.shape, "q.contiguous");
  heads.k = ops::copy(run.tape, heads.k, heads.k.shape, "k.contiguous");
}

void remember(Run& run, LayerCache& cache, Qkv& heads, std::uint64_t window) {
  heads.k = cache.keys = extend_cache(run, cache.keys, heads.k, window);
  heads.v = cache.values = extend_cache(run, cache.values, heads.v, window);
  cache.keys.storage->retag(Component::kv_cache);
  cache.values.storage->retag(Component::kv_cache);
}

}  // namespace

Tensor extend_cache(Run& run, const Tensor& before, const Tensor& fresh, std::uint64_t window) {
  // The first tokens were kept as they are, with all that their view pins, until the cache's layers
  // began as empty tensors that are joined to.
  if (!before.defined() && run.version < joined_cache) return fresh;
  if (!before.defined())
    return run.tape.empty("cache", {fresh.shape, fresh.element}, Component::kv_cache);
  Shape shape = fresh.shape;
  shape[2] += before.shape[2];
  Tensor all = run.tape.empty("cache", {shape, fresh.element}, Component::kv_cache);
  if (window == 0 || shape[2] <= window) return all;
  shape[2] = window;
  return run.tape.empty("cache.window", {shape, fresh.element}, Component::kv_cache);
}

AttentionLayer make_attention(Run& run, const Stack& stack, const AttentionShape& shape) {
  if (shape.latent) return make_latent_attention(run, stack, shape);
  AttentionLayer layer;
  layer.shape = shape;
  const auto named = [&run](const std::string& name) { return run.tape.intern(name); };
  const ModuleNames& names = stack.names;
  if (shape.fused_qkv) {
    layer.qkv =
        make_linear(run, named(names.qkv), {shape.fused_size(), stack.hidden}, shape.q_bias);
  } else {
    layer.q = make_linear(run, named(names.q), {shape.q_rows(), stack.hidden}, shape.q_bias);
    layer.k = make_linear(run, named(names.k), {shape.kv_size(), stack.hidden}, shape.k_bias);
    layer.v = make_linear(run, named(names.v), {shape.kv_size(), stack.hidden}, shape.v_bias);
  }
  layer.o = make_linear(run, named(names.o), {stack.hidden, shape.query_size()}, shape.o_bias);
  if (shape.qk_norm) {
    const bool whole = shape.qk_norm_whole;
    layer.q_norm =
        make_norm(run, "q_norm", stack.norm, whole ? shape.query_size() : shape.head_dim);
    layer.k_norm = make_norm(run, "k_norm", stack.norm, whole ? shape.kv_size() : shape.head_dim);
  }
  if (shape.sinks)
    layer.sinks =
        run.tape.parameter("sinks", {{shape.heads}, run.weights()}, Component::weights, run.full());
  return layer;
}

namespace {

// Heads as the kernel is given them: normed, turned and, where there is a cache, with those before.
Qkv make_heads(Run& run, const AttentionLayer& layer, const Shared& shared,
               const AttentionInput& input) {
  const AttentionShape& shape = layer.shape;
  const bool known = input.memory && input.cache != nullptr && input.cache->keys.defined();
  Qkv heads = project(run, layer, input, known);
  const auto norm_both = [&](bool now) {
    if (!layer.q_norm || !now) return;
    heads.q = norm_heads(run, shape, *layer.q_norm, heads.q);
    heads.k = norm_heads(run, shape, *layer.k_norm, heads.k);
  };
  norm_both(!shape.qk_norm_late);
  if (shape.scaled_keys) heads.k = ops::scale(run.tape, heads.k, "k.scaled");
  const bool turns = shared.cos && !input.memory && input.turns;
  if (turns && run.liger.rope) {
    turn_in_place(run, shape, heads);
  } else if (turns && (shape.by_image || shape.wide_rotary)) {
    rotate_wide(run, shape, shared, heads);
  } else if (turns) {
    {
      const Scope scope(run.tape, "q");
      heads.q = rotate(run, shape, shared, heads.q);
    }
    const Scope scope(run.tape, "k");
    heads.k = rotate(run, shape, shared, heads.k);
  }
  norm_both(shape.qk_norm_late);
  if (input.cache != nullptr && !known) remember(run, *input.cache, heads, input.window);
  heads.heads_first = (turns && !turns_whole(shape, shared)) || shape.heads_first;
  heads.q_part = heads.k_part = shape.fused_qkv && !shape.multihead && !turns && !layer.q_norm;
  heads.v_part = shape.fused_qkv && !shape.multihead && !shape.indexes_heads;
  return heads;
}

}  // namespace

Tensor apply(Run& run, const AttentionLayer& layer, const Shared& shared,
             const AttentionInput& input) {
  const AttentionShape& shape = layer.shape;
  Qkv heads = shape.latent ? project_latent(run, layer, shared, input)
                           : make_heads(run, layer, shared, input);
  const Shape out = {input.x.shape[0], input.x.shape[1], shape.heads * heads.v.shape[3]};
  heads.sinks = layer.sinks;
  const bool again = run.job.compute.checkpointing == Checkpointing::selective && run.trains();
  if (!again) heads.weights = input.weights;  // Or the layer is over when it runs again.
  Shared own = shared;
  if (input.windowed && shared.window_mask) own.mask = shared.window_mask;
  heads.masked = shared.both_ways || (input.windowed && shared.window_mask.has_value());
  const Tensor gate = std::exchange(heads.gate, Tensor{});
  Qkv rest = heads;
  rest.q = rest.k = rest.v = {};
  const auto kernel = [&run, shape, own, rest, pieces = input.pieces](
                          Tape&, const std::vector<Tensor>& qkv) {
    Qkv all = rest;
    all.q = qkv[0], all.k = qkv[1], all.v = qkv[2];
    if (shape.by_image) return attend_pieces(run, shape, own, all, pieces);
    return attend(run, shape, own, all);
  };
  std::vector<Tensor> qkv = {std::move(heads.q), std::move(heads.k), std::move(heads.v)};
  Tensor mixed = again ? ops::checkpoint(run.tape, qkv, kernel) : kernel(run.tape, qkv);
  mixed = Tape::view(mixed, out);
  if (gate.defined())
    mixed = ops::mul(run.tape, mixed, ops::sigmoid(run.tape, gate, "gate.sigmoid"), "gated");
  return apply(run, *layer.o, mixed);
}

}  // namespace headroom::estimate::transformers
