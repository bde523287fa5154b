// SPDX-License-Identifier: Apache-2.0
#include "estimate/diffusion/text_encoders.h"

namespace headroom::estimate::diffusion {
namespace {

Tensor look_up(const Model& model, Parameter* table, const Tensor& ids, Name name) {
  const Needed needed(model.weights, {table});
  return ops::embedding(model.tape, ids, table->tensor, name);
}

Tensor heads_of(const Tensor& x, std::uint64_t heads) {
  return Tape::view(x, {x.shape[0], heads, x.shape[1], x.shape[2] / heads});
}

Tensor as_element(Tape& tape, const Tensor& x, Element element, Name name) {
  return ops::cast(tape, x, element, name);
}

// transformers' NewGELUActivation, statement by statement.
Tensor new_gelu(Tape& tape, const Tensor& x) {
  const Tensor half = ops::scale(tape, x, "gelu.half");
  Tensor inner = ops::cube(tape, x, "gelu.cube");
  inner = ops::scale(tape, inner, "gelu.scaled_cube");
  inner = ops::add(tape, x, inner, "gelu.sum");
  inner = ops::scale(tape, inner, "gelu.scaled");
  inner = ops::tanh(tape, inner, "gelu.tanh");
  inner = ops::scale(tape, inner, "gelu.one_more");
  return ops::mul(tape, half, inner, "gelu");
}

// x * sigmoid(1.702 * x)
Tensor quick_gelu(Tape& tape, const Tensor& x) {
  Tensor factor = ops::scale(tape, x, "gelu.scaled");
  factor = ops::sigmoid(tape, factor, "gelu.sigmoid");
  return ops::mul(tape, x, factor, "gelu");
}

}  // namespace

Clip::Clip(Weights& weights, const ClipShape& shape) : shape_(shape) {
  Tape& tape = weights.tape();
  tokens_ = weights.add("token_embedding.weight", {shape.vocabulary, shape.hidden});
  positions_ = weights.add("position_embedding.weight", {shape.positions, shape.hidden});
  weights.add_kept("position_ids", {{1, shape.positions}, Element::int64}, /*counted=*/false);
  for (std::uint64_t i = 0; i < shape.layers; ++i) {
    const Scope scope(tape, "layers", i);
    Layer layer;
    layer.attention =
        make_attention(weights, {shape.hidden, shape.hidden, shape.heads, /*bias=*/true});
    layer.norm1 = make_norm(weights, "layer_norm1", shape.hidden);
    layer.up = make_linear(weights, "mlp.fc1", {shape.hidden, shape.inner});
    layer.down = make_linear(weights, "mlp.fc2", {shape.inner, shape.hidden});
    layer.norm2 = make_norm(weights, "layer_norm2", shape.hidden);
    layers_.push_back(layer);
  }
  final_ = make_norm(weights, "final_layer_norm", shape.hidden);
  if (shape.projection > 0)
    projection_ = make_linear(weights, "text_projection", {shape.hidden, shape.projection, false});
}

Tensor Clip::run(const Model& model, const Layer& layer, const Tensor& x) const {
  Tape& tape = model.tape;
  Tensor hidden;
  {
    const Tensor normed = normalise(model, layer.norm1, x);
    hidden = apply(model, layer.attention, normed);
  }
  const Tensor residual = ops::add(tape, x, hidden, "self_attn.sum");
  hidden = {};
  {
    const Tensor normed = normalise(model, layer.norm2, residual);
    Tensor inner = apply(model, layer.up, normed);
    inner = shape_.quick_gelu ? quick_gelu(tape, inner) : ops::gelu(tape, inner, "gelu");
    hidden = apply(model, layer.down, inner);
  }
  return ops::add(tape, residual, hidden, "mlp.sum");
}

Clip::Output Clip::forward(const Model& model, const Tensor& ids, bool all_hidden) const {
  Tape& tape = model.tape;
  const Scope scope(tape, "text_encoder", Component::activations);
  Tensor hidden;
  {
    const Tensor words = look_up(model, tokens_, ids, "token_embedding");
    Tensor row = ids;
    row.shape[0] = 1;
    const Tensor places = look_up(model, positions_, row, "position_embedding");
    hidden = ops::add(tape, words, places, "embeddings");
  }
  Output output;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Scope inner(tape, "layers", i);
    if (all_hidden) output.hidden.push_back(hidden);
    hidden = run(model, layers_[i], hidden);
  }
  if (all_hidden) output.hidden.push_back(hidden);
  output.last = normalise(model, final_, hidden);
  output.pooled = tape.empty("pooled", {{ids.shape[0], shape_.hidden}, hidden.element});
  if (projection_) output.pooled = apply(model, *projection_, output.pooled);
  return output;
}

T5::T5(Weights& weights, const T5Shape& shape) : shape_(shape) {
  Tape& tape = weights.tape();
  tokens_ = weights.add("shared.weight", {shape.vocabulary, shape.hidden});
  const std::uint64_t inner = shape.heads * shape.head;
  for (std::uint64_t i = 0; i < shape.layers; ++i) {
    const Scope scope(tape, "block", i);
    Layer layer;
    layer.attention.heads = shape.heads;
    layer.attention.q = make_linear(weights, "q", {shape.hidden, inner, false});
    layer.attention.k = make_linear(weights, "k", {shape.hidden, inner, false});
    layer.attention.v = make_linear(weights, "v", {shape.hidden, inner, false});
    layer.attention.out = make_linear(weights, "o", {inner, shape.hidden, false});
    if (i == 0)
      buckets_ = weights.add("relative_attention_bias.weight", {shape.buckets, shape.heads});
    layer.norm1 = make_rms_norm(weights, "layer_norm", shape.hidden);
    layer.gate = make_linear(weights, "wi_0", {shape.hidden, shape.inner, false});
    if (shape.gated) layer.up = make_linear(weights, "wi_1", {shape.hidden, shape.inner, false});
    // T5PreTrainedModel._keep_in_fp32_modules: fp16 is too narrow for the results of wo.
    layer.down.name = "wo";
    const Element kept = weights.element() == Element::fp16 ? Element::fp32 : weights.element();
    layer.down.weight =
        weights.add_kept("wo.weight", {{shape.hidden, shape.inner}, kept}, /*counted=*/true);
    layer.norm2 = make_rms_norm(weights, "ff.layer_norm", shape.hidden);
    layers_.push_back(layer);
  }
  final_ = make_rms_norm(weights, "final_layer_norm", shape.hidden);
}

// The buckets of all pairs of positions, then a number for each head.
Tensor T5::bias_of(const Model& model, std::uint64_t tokens) const {
  Tape& tape = model.tape;
  const Shape pairs = {tokens, tokens};
  const Tensor distances = tape.empty("relative_position", {pairs, Element::int64});
  const Tensor buckets = tape.empty("position_buckets", {pairs, Element::int64});
  return look_up(model, buckets_, buckets, "position_bias");
}

Tensor T5::attend(const Model& model, const Layer& layer, const Tensor& x, Tensor& bias) const {
  Tape& tape = model.tape;
  const AttentionLayer& attention = layer.attention;
  const Tensor q = apply(model, attention.q, x);
  const Tensor k = apply(model, attention.k, x);
  const Tensor v = apply(model, attention.v, x);
  const std::uint64_t tokens = x.shape[1];
  if (!bias.defined()) bias = bias_of(model, tokens);
  Tensor mixed;
  {
    Meta meta{{x.shape[0], shape_.heads, tokens, tokens}, x.element};
    const Tensor mask = tape.empty("position_bias.mask", meta);
    mixed = attend_masked(model, heads_of(q, attention.heads), heads_of(k, attention.heads),
                          heads_of(v, attention.heads), mask);
  }
  return apply(model, attention.out, mixed);
}

Tensor T5::feed_forward(const Model& model, const Layer& layer, const Tensor& x) {
  Tape& tape = model.tape;
  Tensor gelu;
  {
    const Tensor gate = apply(model, layer.gate, x);
    gelu = layer.up ? new_gelu(tape, gate) : ops::relu(tape, gate, "relu");
  }
  Tensor linear;
  Tensor hidden = gelu;
  if (layer.up) {
    linear = apply(model, *layer.up, x);
    hidden = ops::mul(tape, gelu, linear, "gated");
  }
  hidden = as_element(tape, hidden, layer.down.weight->meta.element, "gated.wide");
  return apply(model, layer.down, hidden);
}

Tensor T5::forward(const Model& model, const Tensor& ids) const {
  Tape& tape = model.tape;
  const Scope scope(tape, "t5", Component::activations);
  Tensor hidden = look_up(model, tokens_, ids, "embeddings");
  Tensor bias;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Scope inner(tape, "block", i);
    Tensor middle;
    {
      const Tensor normed = normalise_rms(model, layers_[i].norm1, hidden);
      const Tensor attended = attend(model, layers_[i], normed, bias);
      middle = ops::add(tape, hidden, attended, "self_attn.sum");
    }
    if (middle.element == Element::fp16) middle = ops::scale(tape, middle, "clamped");
    {
      const Tensor normed = normalise_rms(model, layers_[i].norm2, middle);
      const Tensor fed = feed_forward(model, layers_[i], normed);
      hidden = ops::add(tape, middle, fed, "ff.sum");
    }
  }
  return normalise_rms(model, final_, hidden);
}

void make_checker(Weights& weights, const CheckerShape& shape) {
  weights.add("class_embedding", {shape.hidden});
  weights.add("patch_embedding.weight", {shape.hidden, 3, shape.patch, shape.patch});
  weights.add("position_embedding.weight", {shape.patches + 1, shape.hidden});
  make_norm(weights, "pre_layrnorm", shape.hidden);
  for (std::uint64_t i = 0; i < shape.layers; ++i) {
    const Scope scope(weights.tape(), "layers", i);
    make_attention(weights, {shape.hidden, shape.hidden, 1, /*bias=*/true});
    make_norm(weights, "layer_norm1", shape.hidden);
    make_linear(weights, "mlp.fc1", {shape.hidden, shape.inner});
    make_linear(weights, "mlp.fc2", {shape.inner, shape.hidden});
    make_norm(weights, "layer_norm2", shape.hidden);
  }
  make_norm(weights, "post_layernorm", shape.hidden);
  make_linear(weights, "visual_projection", {shape.hidden, shape.projection, false});
  constexpr std::uint64_t concepts = 17, special = 3;
  weights.add("concept_embeds", {concepts, shape.projection});
  weights.add("special_care_embeds", {special, shape.projection});
  weights.add("concept_embeds_weights", {concepts});
  weights.add("special_care_embeds_weights", {special});
}

}  // namespace headroom::estimate::diffusion
