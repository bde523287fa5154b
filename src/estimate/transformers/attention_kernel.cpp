// SPDX-License-Identifier: Apache-2.0
#include "estimate/transformers/attention_kernel.h"

namespace headroom::estimate::transformers {
namespace {

Shape score_shape(const Tensor& q, const Tensor& k) {
  return {q.shape[0], q.shape[1], q.shape[2], k.shape[2]};
}

// at::_scaled_dot_product_attention_math: both operands are scaled by the square root of the
// scale, half types are computed in fp32, and a causal mask is made per call.
Tensor attend_math(Run& run, const Shared& shared, const Qkv& in) {
  const auto& [q, k, v] = in;
  Tape& tape = run.tape;
  const Tensor queries = ops::cast(tape, q, Element::fp32, "q.fp32");
  const Tensor keys = ops::cast(tape, k, Element::fp32, "k.fp32");
  const Tensor values = ops::cast(tape, v, Element::fp32, "v.fp32");
  const Tensor scaled_q = ops::scale(tape, queries, "q.scaled");
  const Tensor scaled_k = ops::scale(tape, keys, "k.scaled");
  Tensor scores = ops::matmul(tape, scaled_q, scaled_k, score_shape(q, k), "scores");
  if (shared.causal && q.shape[2] > 1) {  // Added in place.
    const Tensor mask = tape.empty("causal_mask", {{q.shape[2], k.shape[2]}, Element::fp32});
  }
  scores = ops::softmax(tape, scores, "probabilities");
  scores = run.dropout(scores, shared.dropout, "probabilities.dropped");
  const Tensor mixed = ops::matmul(tape, scores, values, q.shape, "attention");
  return ops::cast(tape, mixed, q.element, "attention.narrow");
}

// transformers' eager_attention_forward.
Tensor attend_eager(Run& run, const AttentionShape& shape, const Shared& shared, const Qkv& in) {
  const auto& [q, k, v] = in;
  Tape& tape = run.tape;
  const Tensor queries = run.autocast(q, "q.input");
  const Tensor keys = run.autocast(k, "k.input");
  Tensor scores = ops::matmul(tape, queries, keys, score_shape(q, k), "scores");
  scores = ops::scale(tape, scores, "scores.scaled");
  if (shape.soft_cap) {
    scores = ops::tanh(tape, ops::scale(tape, scores, "scores.divided"), "scores.capped");
    scores = ops::scale(tape, scores, "scores.multiplied");
  }
  if (shared.bias) scores = ops::add(tape, scores, *shared.bias, "scores.with_positions");
  if (shared.mask) scores = ops::add(tape, scores, *shared.mask, "scores.masked");
  Tensor wide =
      ops::softmax(tape, ops::cast(tape, scores, Element::fp32, "scores.fp32"), "probabilities");
  scores = ops::cast(tape, wide, queries.element, "probabilities.narrow");
  wide = {};
  scores = run.dropout(scores, shared.dropout, "probabilities.dropped");
  const Tensor mixed = ops::matmul(tape, scores, run.autocast(v, "v.input"), q.shape, "attention");
  return ops::copy(tape, mixed, q.shape, "attention.contiguous");
}

}  // namespace

Tensor attend(Run& run, const AttentionShape& shape, const Shared& shared, const Qkv& in) {
  const auto& [q, k, v] = in;
  Tape& tape = run.tape;
  const Attention kind =
      shape.soft_cap || shared.bias ? Attention::eager : *run.job.compute.attention;
  if (kind == Attention::flash) {
    return ops::flash_attention(tape, run.autocast(q, "q.input"), run.autocast(k, "k.input"),
                                run.autocast(v, "v.input"));
  }
  const Shape repeated = {k.shape[0], q.shape[1], k.shape[2], k.shape[3]};
  Qkv all{q, ops::repeat_heads(tape, k, repeated, "k.repeated"),
          ops::repeat_heads(tape, v, repeated, "v.repeated")};
  if (kind == Attention::eager) return attend_eager(run, shape, shared, all);
  all = {run.autocast(all.q, "q.input"), run.autocast(all.k, "k.input"),
         run.autocast(all.v, "v.input")};
  if (kind == Attention::math) return attend_math(run, shared, all);
  return ops::flash_attention(tape, all.q, all.k, all.v);
}

}  // namespace headroom::estimate::transformers
