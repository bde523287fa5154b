// SPDX-License-Identifier: Apache-2.0
// Sources: transformers' modeling_granitemoehybrid.py (GraniteMoeHybridMambaLayer,
// GraniteMoeHybridRMSNormGated) and cache_utils.py (LinearAttentionLayer).
#include "estimate/transformers/mamba2.h"

#include <utility>
#include <vector>

#include "estimate/transformers/chunk_scan.h"

namespace headroom::estimate::transformers {
namespace {

Tensor gated(Run& run, const Tensor& x, const Tensor& gate) {
  return ops::mul(
      run.tape, x,
      ops::silu(run.tape, ops::cast(run.tape, gate, Element::fp32, "gate.fp32"), "gate"), "gated");
}

// …RMSNormGated: silu of the gate, and the norm of each group.
Tensor gated_norm(Run& run, const Mamba2Layer& layer, const Tensor& x, const Tensor& gate) {
  Tape& tape = run.tape;
  const Scope scope(tape, "norm");
  const Shape rows = x.shape;
  const bool behind = layer.shape.norm == Mamba2::NormPlace::behind_gate;
  Tensor hidden = ops::cast(tape, x, Element::fp32, "fp32");
  if (behind) hidden = gated(run, hidden, gate);
  hidden = Tape::view(hidden, {rows[0], rows[1], layer.shape.groups, rows[2] / layer.shape.groups});
  const Tensor variance = ops::mean_last(tape, ops::square(tape, hidden, "squared"), "variance");
  const Tensor normed = ops::mul(
      tape, hidden, ops::rsqrt(tape, ops::scale(tape, variance, "eps"), "rsqrt"), "normalized");
  hidden = Tape::view(normed, rows);
  hidden = ops::mul(tape, layer.norm, ops::cast(tape, hidden, x.element, "narrow"), "scaled");
  return behind ? hidden : gated(run, hidden, gate);
}

}  // namespace

Mamba2Layer make_mamba2(Run& run, const Stack& stack) {
  Mamba2Layer layer;
  const Mamba2& shape = layer.shape = *stack.mamba2;
  const auto part = [&](Name name, const Shape& of) {
    return run.tape.parameter(name, {of, run.weights()}, Component::weights, run.full());
  };
  layer.step_bias = part("dt_bias", {shape.heads});
  layer.a_log = part("A_log", {shape.heads});
  layer.skip = part("D", {shape.heads});
  layer.conv.kernel = shape.kernel;
  layer.conv.weight = part("conv1d.weight", {shape.channels(), 1, shape.kernel});
  if (shape.conv_bias) layer.conv.bias = part("conv1d.bias", {shape.channels()});
  layer.in = make_linear(run, "in_proj", {shape.rows(), stack.hidden}, shape.bias);
  if (shape.norm != Mamba2::NormPlace::none) layer.norm = part("norm.weight", {shape.inner()});
  layer.out = make_linear(run, "out_proj", {stack.hidden, shape.inner()}, shape.out_bias);
  if (shape.scaled)
    layer.multipliers =
        run.tape.empty("mup_vector", {{shape.rows()}, run.weights()}, Component::other);
  return layer;
}

Tensor apply(Run& run, const Mamba2Layer& layer, const Tensor& x,
             const std::optional<Tensor>& padding, LayerCache* cache) {
  const Mamba2& shape = layer.shape;
  Tape& tape = run.tape;
  const std::uint64_t batch = x.shape[0], tokens = x.shape[1];
  Tensor projected;
  {
    const Tensor given = shape.scaled ? ops::scale(tape, x, "input.scaled") : x;
    projected = apply(run, *layer.in, given);
    if (shape.scaled) projected = ops::mul(tape, projected, layer.multipliers, "in_proj.scaled");
  }
  ChunkScanInput in;
  in.a = ops::scale(
      tape, ops::exp(tape, ops::cast(tape, layer.a_log, Element::fp32, "A_log.fp32"), "A_log.exp"),
      "A");
  const std::vector<Tensor> parts =
      ops::split_last(tape, projected, {shape.inner(), shape.channels(), shape.heads});
  const Shape channels = {batch, shape.channels(), tokens};
  if (cache != nullptr && !cache->convolved.defined())
    cache->convolved = tape.empty(
        "conv_states", {{batch, shape.channels(), shape.kernel}, x.element}, Component::kv_cache);
  Tensor mixed = convolve(run, layer.conv, Tape::view(parts[1], channels));
  mixed = Tape::view(mixed, {batch, tokens, shape.channels()});
  if (padding) mixed = without_padding(run, mixed, *padding);
  const std::uint64_t small = shape.groups * shape.state;
  const std::vector<Tensor> heads = ops::split_last(tape, mixed, {shape.inner(), small, small});
  in.x = Tape::view(heads[0], {batch, tokens, shape.heads, shape.head_dim});
  in.b = Tape::view(heads[1], {batch, tokens, shape.groups, shape.state});
  in.c = Tape::view(heads[2], {batch, tokens, shape.groups, shape.state});
  in.step = parts[2];
  in.skip = layer.skip;
  in.step_bias = layer.step_bias;
  Tensor state;
  if (cache != nullptr) state = cache->state;
  const Tensor scanned = chunk_scan(run, shape, in, state, cache != nullptr);
  if (cache != nullptr && !cache->state.defined())
    cache->state = tape.empty("recurrent_states",
                              {{batch, shape.heads, shape.head_dim, shape.state}, Element::fp32},
                              Component::kv_cache);
  state = {};
  Tensor y = Tape::view(scanned, {batch, tokens, shape.inner()});
  y = shape.norm == Mamba2::NormPlace::none
          ? ops::mul(tape, y, ops::silu(tape, parts[0], "gate"), "gated")
          : gated_norm(run, layer, y, parts[0]);
  return apply(run, *layer.out, ops::cast(tape, y, x.element, "norm.narrow"));
}

}  // namespace headroom::estimate::transformers
