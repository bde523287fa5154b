// SPDX-License-Identifier: Apache-2.0
#include "estimate/transformers/attention_kernel.h"

#include <vector>

#include "estimate/one_gradient.h"

namespace headroom::estimate::transformers {
namespace {

Shape score_shape(const Tensor& q, const Tensor& k) {
  return {q.shape[0], q.shape[1], q.shape[2], k.shape[2]};
}

Shape mixed_shape(const Tensor& q, const Tensor& v) {
  return {q.shape[0], q.shape[1], q.shape[2], v.shape[3]};
}

// at::_scaled_dot_product_attention_math: both operands are scaled by the square root of the
// scale, half types are computed in fp32, and a causal mask is made per call.
Tensor attend_math(Run& run, const Shared& shared, const Qkv& in) {
  const Tensor &q = in.q, &k = in.k, &v = in.v;
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
  scores = ops::softmax(tape, scores, scores.element, "probabilities");
  scores = run.dropout(scores, shared.dropout, "probabilities.dropped");
  const Tensor mixed = ops::matmul(tape, scores, values, mixed_shape(q, v), "attention");
  return ops::cast(tape, mixed, q.element, "attention.narrow");
}

// Whose softmax is asked for no wider type: Falcon's, torch's, and T5's since transformers 5.
bool keeps_type(const Run& run, const AttentionShape& shape) {
  return shape.narrow_softmax || shape.multihead ||
         (shape.relative && run.version >= common_t5_attention);
}

// A product of matrices copies what does not lie sample by sample and head by head (native/
// LinearAlgebra.cpp, matmul's reshape), and so a part of a fused projection does not keep the
// whole. Of what lies by itself the copy takes the original's place. Without gradients the copy
// goes with the product, unless it has a name.
Tensor as_matrices(Run& run, const Tensor& x, bool part, Name name, bool named = false) {
  const bool kept = part && x.shape[0] > 1 && (named || run.tape.grad_enabled());
  return kept ? ops::copy(run.tape, x, x.shape, name) : x;
}

// x.max(-1, keepdim=True).values, whose place in a row the derivative keeps.
Tensor largest(Tape& tape, const Tensor& x) {
  const Meta whole = x.meta();
  Meta one = whole;
  one.shape.back() = 1;
  const Tensor places = tape.empty("scores.largest_at", {one.shape, Element::int64});
  return tape.connect(tape.empty("scores.largest", one), {x}, {places},
                      one_gradient("scores.largest", whole));
}

// x less a number for each row: its gradient is negated whole before it is summed.
Tensor less_rows(Tape& tape, const Tensor& x, const Tensor& rows, Name name) {
  const Meta whole = x.meta();
  const Meta one = rows.meta();
  return tape.connect(tape.empty(name, whole), {x, rows}, {},
                      [=](Tape& t, const Tensor& grad, const Node&) -> Tensors {
                        const Tensor negated = t.empty(name + ".negated", whole);
                        return {grad, t.empty(name + ".sum", one)};
                      });
}

// modeling_gpt_oss.py, eager_attention_forward: the sinks are one more key for the softmax.
Tensor attend_sinks(Run& run, const Shared& shared, const Qkv& in) {
  Tape& tape = run.tape;
  const Tensor& q = in.q;
  Tensor scores = ops::matmul(tape, run.autocast(q, "q.input"), run.autocast(in.k, "k.input"),
                              score_shape(q, in.k), "scores");
  scores = ops::scale(tape, scores, "scores.scaled");
  if (shared.mask) scores = ops::add(tape, scores, *shared.mask, "scores.masked");
  Meta row = scores.meta();
  row.shape.back() = 1;
  const Meta heads = in.sinks->meta();
  // A view of the weight, expanded; its gradient is summed.
  Tensor sinks = *in.sinks;
  sinks.node = nullptr;
  sinks.shape = row.shape;
  sinks =
      tape.connect(sinks, {*in.sinks}, {}, [heads](Tape& t, const Tensor&, const Node&) -> Tensors {
        return {t.empty("sinks.grad", heads)};
      });
  Tensor combined = ops::concat_last(tape, scores, sinks, "scores.with_sinks");
  combined = less_rows(tape, combined, largest(tape, combined), "scores.less_largest");
  const Tensor all = ops::softmax(tape, combined, combined.element, "probabilities");
  const Tensor kept = ops::narrow_last(tape, all, in.k.shape[2]);
  Tensor narrow = ops::cast(tape, kept, in.v.element, "probabilities.narrow");
  scores = run.dropout(narrow, shared.dropout, "probabilities.dropped");
  narrow = {};
  const Tensor mixed =
      ops::matmul(tape, run.autocast(scores, "probabilities.input"), run.autocast(in.v, "v.input"),
                  mixed_shape(q, in.v), "attention");
  if (in.weights != nullptr) *in.weights = scores;
  return ops::copy(tape, mixed, mixed.shape, "attention.contiguous");
}

// transformers' eager_attention_forward.
Tensor attend_eager(Run& run, const AttentionShape& shape, const Shared& shared, const Qkv& in) {
  if (in.sinks) return attend_sinks(run, shared, in);
  const Tensor &q = in.q, &k = in.k, &v = in.v;
  Tape& tape = run.tape;
  const auto widened = [&](const Tensor& x, Name name) {
    return shape.wide_scores ? ops::cast(tape, x, Element::fp32, name) : x;
  };
  const Tensor queries = run.autocast(widened(q, "q.fp32"), "q.input");
  const Tensor keys = run.autocast(widened(k, "k.fp32"), "k.input");
  // nn.MultiheadAttention scales its queries, and adds its mask in the product (baddbmm).
  const Tensor scaled = shape.multihead ? ops::scale(tape, queries, "q.scaled") : queries;
  Tensor scores = ops::matmul(tape, scaled, keys, score_shape(q, k), "scores");
  // T5's scores are not scaled; common_t5_attention multiplies them by 1.
  const bool in_place = shape.relative && run.version < common_t5_attention;
  std::vector<Tensor> named;
  if (shape.names_scores) named.push_back(scores);
  if (!in_place && !shape.multihead && !shape.names_scores)
    scores = ops::scale(tape, scores, "scores.scaled");
  if (shape.soft_cap) {
    scores = ops::tanh(tape, ops::scale(tape, scores, "scores.divided"), "scores.capped");
    scores = ops::scale(tape, scores, "scores.multiplied");
  }
  if (shared.bias)
    scores = in_place ? ops::add_in_place(tape, scores, *shared.bias)
                      : ops::add(tape, scores, *shared.bias, "scores.with_positions");
  if (shared.mask && !shape.multihead)
    scores = ops::add(tape, scores, *shared.mask, "scores.masked");
  if (shape.names_scores || shape.wide_positions) named.push_back(scores);
  const bool narrow = keeps_type(run, shape) && !run.autocasts();
  Tensor wide =
      ops::softmax(tape, scores, narrow ? scores.element : Element::fp32, "probabilities");
  const Element narrowed = shape.wide_scores && !run.autocasts() ? v.element : queries.element;
  scores = ops::cast(tape, wide, narrowed, "probabilities.narrow");
  wide = {};
  scores = run.dropout(scores, shared.dropout, "probabilities.dropped");
  const Tensor mixed =
      ops::matmul(tape, scores, run.autocast(v, "v.input"), mixed_shape(q, v), "attention");
  if (in.weights != nullptr) *in.weights = scores;
  return ops::copy(tape, mixed, mixed.shape, "attention.contiguous");
}

// What the kernel adds to the scores: bools become numbers in each layer (native/transformers/
// attention.cpp, convert_boolean_attn_mask), rows are padded to 16 (pad_bias), and autocast
// narrows.
Tensor mask_for_kernel(Run& run, const Tensor& given, Element element) {
  constexpr std::uint64_t alignment = 16;
  Tape& tape = run.tape;
  Tensor mask = given;
  mask = ops::cast(tape, mask, element, "mask.numbers");
  const std::uint64_t keys = mask.shape.back();
  if (keys % alignment == 0) return mask;
  Shape padded = mask.shape;
  padded.back() += alignment - keys % alignment;
  const Name name = "mask.padded";
  return tape.connect(tape.empty(name, {padded, element}), {mask}, {},
                      one_gradient(name, mask.meta()));
}

// torch.where(kept, x, least): `kept` waits for its derivative.
Tensor kept_where(Tape& tape, const Tensor& kept, const Tensor& x, const Meta& whole, Name name) {
  const Meta given = x.meta();
  return tape.connect(tape.empty(name, whole), {x}, {kept},
                      [=](Tape& t, const Tensor&, const Node&) -> Tensors {
                        Tensor grad = t.empty(name + ".grad", whole);
                        if (given.elements() == whole.elements()) return {std::move(grad)};
                        return {t.empty(name + ".grad_sum", given)};
                      });
}

// create_position_bias_mask (integrations/sdpa_attention.py): each layer makes one mask of its
// positions and of the tokens that it may look at.
Tensor mask_of_positions(Run& run, const Shared& shared, const Qkv& in) {
  Tape& tape = run.tape;
  Tensor mask = *shared.bias;
  Meta whole = mask.meta();
  if (shared.mask) {
    whole.shape[0] = shared.mask->shape[0];
    mask = kept_where(tape, *shared.mask, mask, whole, "positions.kept");
  } else if (shared.causal && in.q.shape[2] > 1) {
    const Shape square = {1, 1, in.q.shape[2], in.k.shape[2]};
    const Tensor before = tape.empty("positions.causal", {square, Element::uint8});
    mask = kept_where(tape, before, mask, whole, "positions.kept");
  }
  if (!shared.bias_is_turned) return mask;
  return ops::copy(tape, mask, mask.shape, "positions.contiguous");
}

// transformers' integrations/sdpa_attention.py with one of PyTorch's fused kernels.
Tensor attend_fused(Run& run, Attention kind, const AttentionShape& shape, const Shared& shared,
                    const Qkv& in) {
  Tape& tape = run.tape;
  const bool masked = (kind == Attention::sdpa_mask && shared.mask) || in.masked || shared.bias;
  const bool half = run.autocasts() || in.q.element != Element::fp32;
  const bool named = !masked && kind == Attention::flash;
  const bool even = in.q.shape[3] == in.v.shape[3];  // Flash knows heads of one size only.
  const bool flash = even && (named || (!masked && half && run.has_flash));
  const bool grouped = named || (!masked && run.version >= grouped_sdpa &&
                                 (flash || run.torch >= grouped_efficient));
  Qkv all = in;
  const bool view = in.k.shape[1] == 1;  // expand() and reshape() of one head copy nothing.
  if (!grouped && !view) {
    const Shape repeated = {in.k.shape[0], in.q.shape[1], in.k.shape[2], in.k.shape[3]};
    all.k = ops::repeat_heads(tape, in.k, repeated, "k.repeated");
    const Shape values = {repeated[0], repeated[1], repeated[2], in.v.shape[3]};
    all.v = ops::repeat_heads(tape, in.v, values, "v.repeated");
  }
  if (kind != Attention::flash && run.version < strided_sdpa && shared.cos && !in.heads_first) {
    all.q = ops::copy(tape, in.q, in.q.shape, "q.contiguous");
    all.heads_first = true;
  }
  all.q = run.autocast(all.q, "q.input");
  all.k = run.autocast(all.k, "k.input");
  all.v = run.autocast(all.v, "v.input");
  Tensor given, mask;  // A name holds what is given while the kernel runs.
  if (masked) {
    given = shared.bias ? mask_of_positions(run, shared, in) : *shared.mask;
    mask = mask_for_kernel(run, given, all.q.element);
  }
  Tensor mixed = flash ? ops::flash_attention(tape, all.q, all.k, all.v)
                       : ops::efficient_attention(tape, all.q, all.k, all.v, mask);
  // nn.MultiheadAttention wants tokens before samples.
  if (shape.multihead) return flash ? mixed : ops::relayout(tape, mixed, "attention.turned");
  // Flash gives its output the layout of q, the efficient kernel has tokens before heads.
  if (!flash || !all.heads_first) return mixed;
  return ops::copy(tape, mixed, mixed.shape, "attention.contiguous");
}

}  // namespace

Tensor attend(Run& run, const AttentionShape& shape, const Shared& shared, const Qkv& in) {
  const bool biased = shared.bias && !run.positions_as_mask(shape);
  const Attention kind =
      shape.soft_cap || shape.sinks || biased ? Attention::eager : *run.job.compute.attention;
  if (kind != Attention::eager && kind != Attention::math)
    return attend_fused(run, kind, shape, shared, in);
  Tape& tape = run.tape;
  // A view of the one head, where it is one sample's.
  Shape repeated = {in.k.shape[0], in.q.shape[1], in.k.shape[2], in.k.shape[3]};
  Qkv all = in;
  if (in.k.shape[0] == 1 && in.k.shape[1] == 1) repeated[1] = 1;
  all.q = as_matrices(run, in.q, in.q_part, "q.copied", shape.names_scores);
  all.k = ops::repeat_heads(tape, as_matrices(run, in.k, in.k_part && !shape.grouped(), "k.copied"),
                            repeated, "k.repeated");
  repeated[3] = in.v.shape[3];
  all.v = ops::repeat_heads(tape, as_matrices(run, in.v, in.v_part && !shape.grouped(), "v.copied"),
                            repeated, "v.repeated");
  if (kind == Attention::eager) return attend_eager(run, shape, shared, all);
  all.q = run.autocast(all.q, "q.input");
  all.k = run.autocast(all.k, "k.input");
  all.v = run.autocast(all.v, "v.input");
  return attend_math(run, shared, all);
}

Tensor attend_pieces(Run& run, const AttentionShape& shape, const Shared& shared, const Qkv& in,
                     const std::vector<Piece>& pieces) {
  Tape& tape = run.tape;
  const bool keeps = tape.grad_enabled() && in.q.requires_grad();
  std::vector<Tensor> outputs;
  bool first = true;
  for (const Piece& piece : pieces) {
    const auto part = [&](const Tensor& x) {
      const Shape shape_of = {piece.count, x.shape[1], piece.length, x.shape[3]};
      // torch.split's gradients are joined once for all pieces.
      return first ? ops::part_of(tape, x, shape_of) : Tape::view(x, shape_of);
    };
    Qkv own = in;
    own.q = part(in.q), own.k = part(in.k), own.v = part(in.v);
    first = false;
    own.q_part = own.k_part = own.v_part = false;
    // Pieces alike are planned as one batch where all of them is kept, else one after the other.
    if (!keeps && piece.count > 1) {
      Meta before = own.q.meta();
      before.shape[0] = piece.count - 1;
      outputs.push_back(tape.empty("attention.pieces", before));
      for (Tensor* x : {&own.q, &own.k, &own.v}) x->shape[0] = 1;
    }
    outputs.push_back(attend(run, shape, shared, own));
  }
  return ops::join(tape, outputs, in.q.shape, "attention.joined");
}

}  // namespace headroom::estimate::transformers
