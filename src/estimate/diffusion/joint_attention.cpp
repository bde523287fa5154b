// SPDX-License-Identifier: Apache-2.0
#include "estimate/diffusion/joint_attention.h"

#include <utility>

namespace headroom::estimate::diffusion {
namespace {

constexpr std::uint64_t sinusoids = 256;

// A part of the rows of all samples: of several they do not lie behind one another.
Tensor project_part(const Model& model, const Linear& linear, const Tensor& part) {
  return part.shape[0] > 1 ? apply_turned(model, linear, part) : apply(model, linear, part);
}

// apply_rotary_emb, statement by statement: the pairs turned by a quarter, then both in fp32.
Tensor rotate(const Model& model, const Tensor& x) {
  Tape& tape = model.tape;
  Tensor turned;
  {
    Meta half = x.meta();
    half.shape.back() /= 2;
    const Tensor negative = tape.empty("rotary.negative", half);
    turned = tape.empty("rotary.turned", x.meta());
  }
  Tensor wide = ops::cast(tape, x, Element::fp32, "rotary.fp32");
  const Meta meta = {x.shape, Element::fp32};
  Tensor left = tape.empty("rotary.times_cos", meta);
  wide = ops::cast(tape, turned, Element::fp32, "rotary.turned_fp32");
  Tensor right = tape.empty("rotary.times_sin", meta);
  wide = {};
  const Tensor sum = tape.empty("rotary.sum", meta);
  left = {};
  right = {};
  return ops::cast(tape, sum, x.element, "rotary");
}

Tensor joined_rows(Tape& tape, const Tensor& a, const Tensor& b, Name name) {
  Meta meta = a.meta();
  meta.shape[1] += b.shape[1];
  return tape.empty(name, meta);
}

Tensor heads_of(const Tensor& x, std::uint64_t heads) {
  return Tape::view(x, {x.shape[0], heads, x.shape[1], x.shape[2] / heads});
}

// As [batch, rows, width]: the names are those of whole rows.
struct Projected {
  Tensor q, k, v;
};

Projected project(const Model& model, const JointLayer& layer, const Tensor& x) {
  Projected all;
  all.q = apply(model, layer.q, x);
  all.k = apply(model, layer.k, x);
  all.v = apply(model, layer.v, x);
  return all;
}

Projected project_added(const Model& model, const JointLayer& layer, const Tensor& x) {
  Projected all;
  all.q = apply(model, *layer.added_q, x);
  all.k = apply(model, *layer.added_k, x);
  all.v = apply(model, *layer.added_v, x);
  return all;
}

void norm_heads(const Model& model, const std::optional<Norm>& norm, std::uint64_t heads,
                Tensor& x) {
  if (!norm) return;
  const Shape rows = x.shape;
  const Tensor split = Tape::view(x, {rows[0], rows[1], heads, rows[2] / heads});
  x = {};
  x = Tape::view(normalise_rms(model, *norm, split), rows);
}

}  // namespace

Embedder make_embedder(Weights& weights, Name name, const LinearShape& shape) {
  const Scope scope(weights.tape(), name);
  return {make_linear(weights, "linear_1", {shape.in, shape.out}),
          make_linear(weights, "linear_2", {shape.out, shape.out})};
}

Tensor apply(const Model& model, const Embedder& embedder, const Tensor& x) {
  Tensor hidden = apply(model, embedder.first, x);
  hidden = ops::silu(model.tape, hidden, "silu");
  return apply(model, embedder.second, hidden);
}

Tensor embed_number(const Model& model, const Embedder& embedder, std::uint64_t samples) {
  Tape& tape = model.tape;
  const Tensor wide = tape.empty("time_proj", {{samples, sinusoids}, Element::fp32});
  const Tensor narrow = ops::cast(tape, wide, model.weights.element(), "time_proj.narrow");
  return apply(model, embedder, narrow);
}

AdaNorm make_ada_norm(Weights& weights, Name name, std::uint64_t width, std::uint64_t parts) {
  const Scope scope(weights.tape(), name);
  return {make_linear(weights, "linear", {width, parts * width}), parts};
}

Tensor modulate(const Model& model, const Tensor& x, Name name) {
  Tensor scaled;
  {
    const Tensor normed = normalise(model, make_plain_norm(name), x);
    scaled = ops::scale(model.tape, normed, name + ".scaled");
  }
  return ops::scale(model.tape, scaled, name + ".shifted");
}

Modulated apply(const Model& model, const AdaNorm& norm, const Tensor& x, const Tensor& time) {
  constexpr std::uint64_t parts_for_two = 9;
  Tape& tape = model.tape;
  Modulated result;
  {
    const Tensor active = ops::silu(tape, time, "silu");
    result.embedding = apply(model, norm.linear, active);
  }
  if (norm.parts != parts_for_two) {
    result.x = modulate(model, x, "norm1");
    return result;
  }
  const Tensor normed = normalise(model, make_plain_norm("norm1"), x);
  for (Tensor* part : {&result.x, &result.second}) {
    const Tensor scaled = ops::scale(tape, normed, "norm1.scaled");
    *part = ops::scale(tape, scaled, "norm1.shifted");
  }
  return result;
}

JointLayer make_joint(Weights& weights, Name name, const JointShape& shape) {
  const Scope scope(weights.tape(), name);
  const std::uint64_t width = shape.width;
  const std::uint64_t head = width / shape.heads;
  const auto linear = [&](Name its) { return make_linear(weights, its, {width, width}); };
  const auto norm = [&](Name its) { return make_rms_norm(weights, its, head); };
  JointLayer layer;
  layer.heads = shape.heads;
  layer.tokens_first = shape.tokens_first;
  if (shape.norms) layer.norm_q = norm("norm_q"), layer.norm_k = norm("norm_k");
  layer.q = linear("to_q");
  layer.k = linear("to_k");
  layer.v = linear("to_v");
  if (shape.context) {
    layer.added_k = linear("add_k_proj");
    layer.added_v = linear("add_v_proj");
    layer.added_q = linear("add_q_proj");
    if (shape.norms)
      layer.norm_added_q = norm("norm_added_q"), layer.norm_added_k = norm("norm_added_k");
  }
  if (shape.out) layer.out = linear("to_out");
  if (shape.context && shape.context_out) layer.added_out = linear("to_add_out");
  return layer;
}

Attended apply(const Model& model, const JointLayer& layer, const Tensor& image,
               const Tensor* context, const Rotation* rotation) {
  Tape& tape = model.tape;
  Projected own = project(model, layer, image);
  Projected added;
  if (context != nullptr && layer.tokens_first) added = project_added(model, layer, *context);
  norm_heads(model, layer.norm_q, layer.heads, own.q);
  norm_heads(model, layer.norm_k, layer.heads, own.k);
  if (context != nullptr) {
    if (!layer.tokens_first) added = project_added(model, layer, *context);
    norm_heads(model, layer.norm_added_q, layer.heads, added.q);
    norm_heads(model, layer.norm_added_k, layer.heads, added.k);
    own.q = joined_rows(tape, own.q, added.q, "q.joined");
    own.k = joined_rows(tape, own.k, added.k, "k.joined");
    own.v = joined_rows(tape, own.v, added.v, "v.joined");
  }
  if (rotation != nullptr) {
    own.q = rotate(model, own.q);
    own.k = rotate(model, own.k);
  }
  Tensor mixed = attend(model, heads_of(own.q, layer.heads), heads_of(own.k, layer.heads),
                        heads_of(own.v, layer.heads));
  // Flash gives its result the layout of the queries: of joined ones, heads before rows.
  const bool half = own.q.element != Element::fp32;
  if (context != nullptr && !layer.tokens_first && model.kernel == Kernel::flash && half)
    mixed = ops::copy(tape, mixed, mixed.shape, "attention.rows");
  Attended result;
  if (context == nullptr) {
    result.image = layer.out ? apply(model, *layer.out, mixed) : mixed;
    return result;
  }
  const Tensor image_rows = Tape::view(mixed, image.shape);
  const Tensor context_rows = Tape::view(mixed, context->shape);
  mixed = {};
  if (layer.tokens_first) {  // .contiguous() before each of the two.
    const auto contiguous = [&](const Tensor& x) {
      return x.shape[0] > 1 ? ops::copy(tape, x, x.shape, "attention.part") : x;
    };
    result.image = apply(model, *layer.out, contiguous(image_rows));
    result.context = apply(model, *layer.added_out, contiguous(context_rows));
    return result;
  }
  // SD3's last block does not want it, but its view keeps the whole until the block returns.
  result.context = context_rows;
  if (layer.added_out) result.context = project_part(model, *layer.added_out, context_rows);
  result.image = project_part(model, *layer.out, image_rows);
  return result;
}

GeluFeed make_gelu_feed(Weights& weights, Name name, std::uint64_t width) {
  const Scope scope(weights.tape(), name);
  return {make_linear(weights, "net.0.proj", {width, 4 * width}),
          make_linear(weights, "net.2", {4 * width, width})};
}

Tensor apply(const Model& model, const GeluFeed& feed, const Tensor& x) {
  Tensor inner;
  {
    const Tensor raw = apply(model, feed.up, x);
    inner = ops::gelu(model.tape, raw, "gelu");
  }
  return apply(model, feed.down, inner);
}

}  // namespace headroom::estimate::diffusion
