// SPDX-License-Identifier: Apache-2.0
#include "estimate/headroom_ops.h"

#include <algorithm>

#include "estimate/headroom_engine.h"

namespace headroom::estimate::ours {
namespace {

std::uint64_t rows_per_block(std::uint64_t rows, std::uint64_t width) {
  return std::min(rows,
                  std::max<std::uint64_t>(1, block_elements / std::max<std::uint64_t>(1, width)));
}

}  // namespace

Ops::Ops(Tape& tape, const Job& job, const ModelConfig& model)
    : tape_(tape),
      job_(job),
      model_(model),
      element_(element_of(job.compute.dtype)),
      narrow_(element_ != Element::fp32) {}

Tensor Ops::temporary(Name name, Shape shape, Element element) const {
  return tape_.empty(name, {shape, element}, Component::workspace);
}

Tensor Ops::widened(Name name, const Shape& shape) const {
  return narrow_ ? temporary(name, shape) : Tensor{};
}

NormResult Ops::rms_norm(const Tensor& x, std::uint64_t width) const {
  const std::uint64_t rows = x.elements() / width;
  NormResult result{tape_.empty("norm", x), tape_.empty("norm.rstd", {{rows, 1}, Element::fp32})};
  const Tensor block = widened("norm.block", {rows_per_block(rows, width), width});
  return result;
}

void Ops::rms_norm_backward(const Tensor& x, Parameter& weight) const {
  const std::uint64_t width = weight.value.elements();
  const Shape block = {rows_per_block(x.elements() / width, width), width};
  const Tensor scale = widened("norm.scale", {width});
  Tensor weight_grad;
  if (weight.trainable) weight_grad = temporary("norm.weight_grad", {width});
  {
    const Tensor wide_x = widened("norm.x", block);
    const Tensor normed = widened("norm.normed", block);
    const Tensor wide_grad = widened("norm.grad", block);
    const Tensor product = widened("norm.product", block);
    const Tensor mean = widened("norm.mean", {block[0]});
  }
  if (weight.trainable && !weight.grad.defined()) {
    weight.grad = tape_.empty("norm.weight.grad", weight.value, Component::gradients);
  }
}

NormResult Ops::normalise(const Tensor& x, const Norm& norm) const {
  if (norm.bias == nullptr) return rms_norm(x);
  const std::uint64_t rows = x.shape[0];
  const std::uint64_t width = x.shape[1];
  const Shape block = {rows_per_block(rows, width), width};
  const Shape column = {block[0], 1};
  NormResult result{tape_.empty("norm", x), tape_.empty("norm.stats", {{rows, 2}, Element::fp32})};
  const Tensor scale = widened("norm.scale", {width}), shift = widened("norm.shift", {width});
  const Tensor wide_x = widened("norm.x", block), mean = widened("norm.mean", column);
  const Tensor centred = widened("norm.centred", block);
  const Tensor squares = widened("norm.squares", block), rstd = widened("norm.rstd", column);
  return result;
}

void Ops::normalise_backward(const Tensor& x, const Norm& norm) const {
  if (norm.bias == nullptr) return rms_norm_backward(x, *norm.weight);
  layer_norm_backward(x, norm);
}

void Ops::layer_norm_backward(const Tensor& x, const Norm& norm) const {
  const std::uint64_t width = x.shape[1];
  const Shape block = {rows_per_block(x.shape[0], width), width};
  const Tensor scale = widened("norm.scale", {width});
  Tensor weight_sum, bias_sum;
  if (norm.weight->trainable) {
    weight_sum = temporary("norm.weight_sum", {width});
    bias_sum = temporary("norm.bias_sum", {width});
  }
  {
    const Tensor normed = widened("norm.normed", block);
    const Tensor wide_grad = widened("norm.grad", block);
    const Tensor product = widened("norm.product", block);
    const Tensor pull = widened("norm.pull", {block[0]}), level = widened("norm.level", {block[0]});
  }
  if (!norm.weight->trainable) return;
  for (Parameter* parameter : {norm.weight, norm.bias}) {
    if (!parameter->grad.defined())
      parameter->grad = tape_.empty("norm.grad", parameter->value, Component::gradients);
  }
}

void Ops::rotary(const Tensor& x) const {
  if (!narrow_) return;
  const Tensor moved = temporary("rotary.moved", {x.shape[0], x.shape[1] / 2}, element_);
}

Tensor Ops::swiglu(const Tensor& gate) const {
  return tape_.empty("act", gate);
}

Tensor Ops::swiglu_backward(const Tensor& gate) const {
  return tape_.empty("up.grad", gate, Component::workspace);
}

Tensor Ops::gelu(const Tensor& x) const {
  return tape_.empty("act", x);
}

void Ops::gelu_backward(const Tensor& x) const {
  if (!narrow_) return;
  const Tensor moved = temporary("gelu.grad", {x.shape[0], x.shape[1]}, element_);
}

void Ops::adapter_temporaries(const Linear& layer, Tensor& a, Tensor& b) const {
  if (layer.lora_a->value.element == element_) return;
  a = temporary("lora_A.cast", layer.lora_a->value.shape, element_);
  b = temporary("lora_B.cast", layer.lora_b->value.shape, element_);
}

void Ops::product(const Product& p) const {
  const Tensor space = temporary("product.right", {product_space(p.inner, p.columns)});
  if (p.out == Element::fp32) return;
  const Tensor sum = temporary("product.sum", {std::min(p.rows, product_sum_rows),
                                               std::min(p.columns, product_column_block)});
}

Tensor Ops::linear(const Linear& layer, const Tensor& x, LinearSaved& saved) const {
  const std::uint64_t rows = x.shape[0];
  const std::uint64_t in = layer.in();
  const std::uint64_t out = layer.out();
  const Meta output{{rows, out}, element_};
  Tensor y = tape_.empty(layer.name, output);
  product({rows, in, out, element_});
  if (layer.lora_a == nullptr) return y;
  Tensor kept;
  if (job_.method.dropout > 0) {
    saved.dropped = tape_.empty("dropout_mask", {x.shape, Element::uint8});
    kept = temporary("dropped", x.shape, element_);
  }
  Tensor a, b;
  adapter_temporaries(layer, a, b);
  const std::uint64_t rank = job_.method.rank;
  saved.reduced = tape_.empty("lora_A", {{rows, rank}, element_});
  product({rows, in, rank, element_});
  product({rows, rank, out, element_});
  return y;
}

void Ops::add_product_to_gradient(Parameter& parameter, std::uint64_t inner) const {
  if (!parameter.grad.defined()) {
    parameter.grad = tape_.empty("grad", parameter.value, Component::gradients);
  }
  const Meta& value = parameter.value;
  product({value.shape[0], inner, value.shape[1], value.element});
}

void Ops::linear_backward(const Linear& layer, const Tensor& grad, const Tensor& x,
                          LinearSaved& saved, Tensor* dx) const {
  const std::uint64_t rows = grad.shape[0];
  if (layer.weight->trainable) add_product_to_gradient(*layer.weight, rows);
  if (layer.bias != nullptr && layer.bias->trainable && !layer.bias->grad.defined()) {
    layer.bias->grad = tape_.empty("bias.grad", layer.bias->value, Component::gradients);
  }
  const Shape input = {rows, layer.in()};
  if (dx != nullptr && !dx->defined()) *dx = temporary("input.grad", input, element_);
  if (dx != nullptr) product({rows, layer.out(), layer.in(), element_});
  if (layer.lora_a != nullptr) adapter_backward(layer, x, input, saved, dx != nullptr);
  saved = {};
}

void Ops::adapter_backward(const Linear& layer, const Tensor& x, const Shape& input,
                           const LinearSaved& saved, bool through_input) const {
  const std::uint64_t rows = input[0];
  const std::uint64_t rank = job_.method.rank;
  Tensor a, b;
  adapter_temporaries(layer, a, b);
  add_product_to_gradient(*layer.lora_b, rows);
  const Tensor reduced_grad = temporary("lora_A.grad", saved.reduced.shape, element_);
  product({rows, layer.out(), rank, element_});
  {
    Tensor kept;
    if (saved.dropped.defined()) kept = temporary("dropped", x.shape, element_);
    add_product_to_gradient(*layer.lora_a, rows);
  }
  if (!through_input) return;
  Tensor through;
  if (saved.dropped.defined()) through = temporary("through", input, element_);
  product({rows, rank, input[1], element_});
}

AttentionResult Ops::attention(const Qkv& in) const {
  const std::uint64_t batch = *job_.batch.micro;
  const std::uint64_t rows_of_all = (in.all.defined() ? in.all : in.q).shape[0];
  const std::uint64_t length = rows_of_all / batch;
  const Shape head = {length, model_.head_dim};
  AttentionResult result;
  result.out = tape_.empty("attention", {{rows_of_all, model_.query_size()}, element_});
  if (*job_.compute.attention == Attention::math) {
    result.saved = tape_.empty("probabilities", {{batch * model_.heads, length, length}, element_});
    const Tensor space = attention_space(length);
    const Tensor copy = widened("scores", {length, length});
    const Tensor k = widened("k.wide", head), v = widened("v.wide", head),
                 q = widened("q.wide", head);
    return result;
  }
  result.saved = tape_.empty("logsumexp", {{batch * model_.heads, length, 1}, Element::fp32});
  const std::uint64_t rows = std::min(attention_rows, length);
  const Tensor space = attention_space(length);
  const Tensor scores = temporary("scores", {rows * length});
  const Tensor k = widened("k.wide", head), v = widened("v.wide", head);
  const Tensor out = widened("out.wide", {rows, model_.head_dim});
  return result;
}

Tensor Ops::attention_space(std::uint64_t length) const {
  const std::uint64_t dim = model_.head_dim;
  const std::uint64_t elements = attention_space_is_flat(length, dim) ? product_space(dim, length)
                                                                      : product_space(length, dim);
  return temporary("product.right", {elements});
}

Qkv Ops::make_gradients(const Qkv& in) const {
  Qkv grads;
  if (in.all.defined()) {
    grads.all = tape_.empty("qkv.grad", in.all, Component::workspace);
    return grads;
  }
  grads.q = tape_.empty("q.grad", in.q, Component::workspace);
  grads.k = tape_.empty("k.grad", in.k, Component::workspace);
  grads.v = tape_.empty("v.grad", in.v, Component::workspace);
  return grads;
}

Qkv Ops::attention_backward(const Qkv& in) const {
  const std::uint64_t length = (in.all.defined() ? in.all : in.q).shape[0] / *job_.batch.micro;
  const bool math = *job_.compute.attention == Attention::math;
  const std::uint64_t rows = math ? length : std::min(attention_rows, length);
  const Shape head = {length, model_.head_dim};
  const Shape block = {rows, model_.head_dim};
  Qkv grads = make_gradients(in);
  const Tensor space = attention_space(length);
  Tensor scores;
  if (!math) scores = temporary("scores", {rows * length});
  const Tensor dscores = temporary("scores.grad", {rows * length});
  const Tensor k = widened("k.wide", head), v = widened("v.wide", head);
  const Tensor dk = widened("k.grad_wide", head), dv = widened("v.grad_wide", head);
  const Tensor q = widened("q.wide", block), dout = widened("out.grad_wide", block);
  if (math) scores = widened("probabilities.wide", {length, length});
  const Tensor out = widened("out.wide", block);
  return grads;
}

void Ops::cross_entropy(const Tensor& logits) const {
  const std::uint64_t rows = rows_per_block(logits.shape[0], logits.shape[1]);
  const Tensor block = widened("logits.block", {rows, logits.shape[1]});
  const Tensor losses = temporary("loss.rows", {rows}, Element::int64);  // fp64, which is as wide.
}

Tensor Ops::loss(const Tensor& x, Parameter& head) const {
  const std::uint64_t vocabulary = head.value.shape[0];
  const bool chunked = job_.compute.loss == Loss::chunked;
  Tensor dx;
  if (chunked) dx = temporary("hidden.grad", x.shape, element_);
  const std::uint64_t rows = x.shape[0];
  const std::uint64_t chunk = chunked ? loss_chunk_rows(rows, x.shape[1], vocabulary) : rows;
  // Chunks of one size are alike, and the second finds what the first has left: more of them change
  // nothing.
  std::vector<std::uint64_t> parts(std::min<std::uint64_t>(rows / chunk, 2), chunk);
  if (rows % chunk != 0) parts.push_back(rows % chunk);
  for (const std::uint64_t part_rows : parts) {
    const Meta part{{part_rows, vocabulary}, element_};
    const Tensor logits = tape_.empty("logits", part, Component::logits);
    product({part.shape[0], x.shape[1], vocabulary, element_});
    cross_entropy(logits);
    if (head.trainable) add_product_to_gradient(head, part.shape[0]);
    if (!chunked) dx = temporary("hidden.grad", x.shape, element_);
    product({part.shape[0], vocabulary, x.shape[1], element_});
  }
  return dx;
}

}  // namespace headroom::estimate::ours
