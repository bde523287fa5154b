// SPDX-License-Identifier: Apache-2.0
// Sources: transformers' modeling_siglip.py (SiglipMultiheadAttentionPoolingHead), and torch's
// nn/functional.py (multi_head_attention_forward with need_weights, _in_projection_packed).
#include "estimate/transformers/pooling_head.h"

namespace headroom::estimate::transformers {

PoolingHead make_pooling_head(Run& run, const Stack& stack) {
  const std::uint64_t hidden = stack.hidden;
  const std::size_t trained = run.tape.trainable().size();
  const Scope scope(run.tape, "head");
  const auto part = [&](Name name, const Shape& shape) {
    return run.tape.parameter(name, {shape, run.weights()}, Component::weights, run.full());
  };
  PoolingHead head;
  head.probe = part("probe", {hidden});
  head.packed = part("attention.in_proj_weight", {3 * hidden, hidden});
  head.packed_bias = part("attention.in_proj_bias", {3 * hidden});
  head.out = make_plain_linear(run, "attention.out_proj", {hidden, hidden}, true, run.weights());
  head.norm = make_norm(run, "layernorm", stack.norm, hidden);
  head.mlp = make_mlp(run, stack, stack.mlp);
  head.heads = stack.attention.heads;
  run.tape.trainable().resize(trained);
  return head;
}

Tensor apply(Run& run, const PoolingHead& head, const Tensor& x) {
  Tape& tape = run.tape;
  const Scope scope(tape, "head");
  const std::uint64_t batch = x.shape[0], tokens = x.shape[1], hidden = x.shape[2];
  const Shape one = {batch, 1, hidden};
  const Tensor probe = ops::repeat_heads(tape, head.probe, one, "probe.repeated");
  const Tensor weight = run.autocast_weight(head.packed, "in_proj");
  const Tensor bias = run.autocast_weight(head.packed_bias, "in_proj.bias");
  const auto rows = [&](const Tensor& of, std::uint64_t count) {
    return Tape::view(of,
                      of.shape.size() > 1 ? Shape{count * hidden, hidden} : Shape{count * hidden});
  };
  const Tensor query = ops::linear(tape, run.autocast(probe, "probe.input"), rows(weight, 1),
                                   rows(bias, 1), "query");
  // Tokens come before samples: a copy, and another of what becomes of it.
  const Tensor turned = ops::copy(tape, run.autocast(x, "keys.narrow"), x.shape, "keys.input");
  const Tensor both =
      ops::relayout(tape, ops::linear(tape, turned, rows(weight, 2), rows(bias, 2), "keys_values"),
                    "keys_values.contiguous");
  const Tensor scaled = ops::scale(tape, query, "query.scaled");
  const Shape scores = {batch, head.heads, 1, tokens};
  const Tensor probabilities =
      ops::softmax(tape, ops::matmul(tape, scaled, both, scores, "scores"),
                   run.autocasts() ? Element::fp32 : both.element, "probabilities");
  const Tensor mixed =
      ops::matmul(tape, run.autocast(probabilities, "probabilities.input"), both, one, "mixed");
  const Tensor attended = apply(run, head.out, mixed);
  const Tensor normed = apply(run, head.norm, attended);
  return ops::add(tape, attended, apply(run, head.mlp, normed), "pooled");
}

}  // namespace headroom::estimate::transformers
