// SPDX-License-Identifier: Apache-2.0
#include "estimate/diffusion/attention.h"

#include <algorithm>
#include <utility>

namespace headroom::estimate::diffusion {
namespace {

// What FlashAttention has kernels for (native/transformers/cuda/sdp_utils.cpp,
// check_head_dim_size_flash).
constexpr std::uint64_t flash_width_max = 256;

Shape heads_of(const Tensor& x, std::uint64_t heads) {
  return {x.shape[0], heads, x.shape[1], x.shape[2] / heads};
}

Shape rows_of(const Tensor& x) {
  return {x.shape[0], x.shape[2], x.shape[1] * x.shape[3]};
}

Shape scores_of(const Tensor& q, const Tensor& k) {
  return {q.shape[0], q.shape[1], q.shape[2], k.shape[2]};
}

// matmul makes one batch of samples and heads, which lie so in memory only where one of the two is
// one alone.
Tensor as_batch(Tape& tape, const Tensor& x, Name name) {
  return x.shape[0] > 1 && x.shape[1] > 1 ? ops::copy(tape, x, x.shape, name) : x;
}

// at::_scaled_dot_product_attention_math: half types are computed in fp32; a row of nothing but
// -inf becomes zeros (_safe_softmax), which takes a byte for each score; the probabilities are
// returned as well, narrowed, before they are multiplied.
Tensor attend_math(Tape& tape, const Tensor& q, const Tensor& k, const Tensor& v) {
  const Tensor queries = ops::cast(tape, q, Element::fp32, "q.fp32");
  const Tensor keys = ops::cast(tape, k, Element::fp32, "k.fp32");
  const Tensor values = ops::cast(tape, v, Element::fp32, "v.fp32");
  const Tensor scaled = ops::scale(tape, queries, "q.scaled");
  Tensor scores;
  {
    const Tensor scaled_keys = ops::scale(tape, keys, "k.scaled");
    const Tensor left = as_batch(tape, scaled, "q.copied");
    const Tensor right = as_batch(tape, scaled_keys, "k.copied");
    scores = ops::matmul(tape, left, right, scores_of(q, k), "scores");
  }
  Tensor probabilities = ops::softmax(tape, scores, Element::fp32, "probabilities");
  {
    const Tensor masked = tape.empty("scores.masked", {scores.shape, Element::uint8});
    const Tensor rows =
        tape.empty("scores.masked_rows",
                   {{scores.shape[0], scores.shape[1], scores.shape[2]}, Element::uint8});
  }
  scores = {};
  const Tensor returned = ops::cast(tape, probabilities, q.element, "probabilities.narrow");
  Tensor mixed;
  {
    const Tensor right = as_batch(tape, values, "v.copied");
    mixed = ops::matmul(tape, probabilities, right, q.shape, "attention.fp32");
  }
  return ops::cast(tape, mixed, q.element, "attention");
}

// head_to_batch_dim and its inverse: copies where there are several heads.
Tensor turned_heads(Tape& tape, const Tensor& x, std::uint64_t heads, Name name) {
  return heads > 1 ? ops::copy(tape, x, x.shape, name) : x;
}

// Attention.get_attention_scores on [batch × heads, rows, width].
Tensor probabilities_of(Tape& tape, const AttentionLayer& layer, const Tensor& q, const Tensor& k) {
  const Element element = q.element;
  const Tensor queries = layer.upcast_scores ? ops::cast(tape, q, Element::fp32, "q.fp32") : q;
  const Tensor keys = layer.upcast_scores ? ops::cast(tape, k, Element::fp32, "k.fp32") : k;
  const Shape shape = {q.shape[0], q.shape[1], k.shape[1]};
  Tensor scores;
  {
    const Tensor input = tape.empty("scores.input", {shape, queries.element});  // baddbmm's.
    scores = ops::matmul(tape, queries, keys, shape, "scores");
  }
  if (layer.upcast_softmax) scores = ops::cast(tape, scores, Element::fp32, "scores.fp32");
  Tensor probabilities = tape.empty("probabilities", scores.meta());
  scores = {};
  return ops::cast(tape, probabilities, element, "probabilities.narrow");
}

struct Operands {
  Tensor q, k, v;  // [batch × heads, rows, width]
};

// SlicedAttnProcessor: some of the heads at a time, into a result that has been made before.
Tensor attend_sliced(const Model& model, const AttentionLayer& layer, const Operands& in) {
  Tape& tape = model.tape;
  Tensor result = tape.empty("attention", in.q.meta());
  const std::uint64_t all = in.q.shape[0];
  const std::uint64_t slice =
      model.processor == Processor::sliced_one ? 1 : std::max<std::uint64_t>(1, layer.heads / 2);
  const auto part = [&](const Tensor& x, std::uint64_t begin) {
    Shape shape = x.shape;
    shape[0] = std::min(slice, all - begin);
    return Tape::view(x, shape);
  };
  Tensor mixed;
  for (std::uint64_t begin = 0; begin < all; begin += slice) {
    const Tensor q = part(in.q, begin);
    const Tensor probabilities = probabilities_of(tape, layer, q, part(in.k, begin));
    mixed = {};
    mixed = ops::matmul(tape, probabilities, part(in.v, begin), q.shape, "attention.slice");
  }
  return result;
}

Tensor attend_plain(const Model& model, const AttentionLayer& layer, const Operands& in) {
  Tape& tape = model.tape;
  const Shape folded = {in.q.shape[0] * layer.heads, in.q.shape[1], in.q.shape[2] / layer.heads};
  const Shape keys = {folded[0], in.k.shape[1], folded[2]};
  Operands heads;
  heads.q = Tape::view(in.q, folded);
  heads.k = Tape::view(in.k, keys);
  heads.v = Tape::view(in.v, keys);
  Tensor mixed;
  Tensor probabilities;  // Its variable lives as long as the call.
  if (model.processor == Processor::eager) {
    probabilities = probabilities_of(tape, layer, heads.q, heads.k);
    mixed = ops::matmul(tape, probabilities, heads.v, folded, "attention");
  } else {
    mixed = attend_sliced(model, layer, heads);
  }
  mixed = Tape::view(mixed, in.q.shape);
  mixed = turned_heads(tape, mixed, layer.heads, "attention.turned");
  return apply(model, layer.out, mixed);
}

}  // namespace

AttentionLayer make_attention(Weights& weights, const AttentionWidths& widths) {
  AttentionLayer layer;
  layer.heads = widths.heads;
  layer.q = make_linear(weights, "to_q", {widths.width, widths.width, widths.bias});
  layer.k = make_linear(weights, "to_k", {widths.context, widths.width, widths.bias});
  layer.v = make_linear(weights, "to_v", {widths.context, widths.width, widths.bias});
  layer.out = make_linear(weights, "to_out", {widths.width, widths.width, true});
  return layer;
}

Tensor attend(const Model& model, const Tensor& q, const Tensor& k, const Tensor& v) {
  Tape& tape = model.tape;
  const bool half = q.element != Element::fp32;
  if (model.kernel == Kernel::flash && half && q.shape[3] <= flash_width_max)
    return Tape::view(ops::flash_attention(tape, q, k, v), rows_of(q));
  return attend_masked(model, q, k, v, {});
}

// Without gradients the efficient kernel keeps nothing beside its result.
Tensor attend_masked(const Model& model, const Tensor& q, const Tensor& k, const Tensor& v,
                     const Tensor& /*mask*/) {
  Tape& tape = model.tape;
  if (model.kernel != Kernel::math) return tape.empty("attention", {rows_of(q), q.element});
  const Tensor mixed = attend_math(tape, q, k, v);
  if (q.shape[1] == 1) return Tape::view(mixed, rows_of(q));
  return ops::copy(tape, mixed, rows_of(q), "attention.rows");
}

Tensor apply(const Model& model, const AttentionLayer& layer, const Tensor& x,
             const Tensor* context, bool turned) {
  Tape& tape = model.tape;
  const Tensor& source = context == nullptr ? x : *context;
  const auto project = [&](const Linear& linear, const Tensor& from) {
    return turned ? apply_turned(model, linear, from) : apply(model, linear, from);
  };
  Operands in;
  in.q = project(layer.q, x);
  if (model.processor == Processor::sdpa || model.processor == Processor::eager) {
    in.k = project(layer.k, source);
    in.v = project(layer.v, source);
  }
  if (model.processor == Processor::sdpa) {
    const Tensor mixed = attend(model, Tape::view(in.q, heads_of(in.q, layer.heads)),
                                Tape::view(in.k, heads_of(in.k, layer.heads)),
                                Tape::view(in.v, heads_of(in.v, layer.heads)));
    return apply(model, layer.out, mixed);
  }
  in.q = turned_heads(tape, in.q, layer.heads, "q.turned");
  if (!in.k.defined()) {  // The sliced processor turns its queries before there are keys.
    in.k = project(layer.k, source);
    in.v = project(layer.v, source);
  }
  in.k = turned_heads(tape, in.k, layer.heads, "k.turned");
  in.v = turned_heads(tape, in.v, layer.heads, "v.turned");
  return attend_plain(model, layer, in);
}

}  // namespace headroom::estimate::diffusion
