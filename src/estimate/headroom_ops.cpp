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

// Rows in chunks, and how often one stands for more of its size.
struct Chunk {
  std::uint64_t rows;
  double times;
};

// Chunks of one size are alike, and the second finds what the first has left: more of them change
// nothing of the memory.
std::vector<Chunk> chunks(std::uint64_t rows, std::uint64_t chunk) {
  std::vector<Chunk> parts;
  const std::uint64_t whole = rows / chunk;
  if (whole > 0) parts.push_back({chunk, 1});
  if (whole > 1) parts.push_back({chunk, static_cast<double>(whole - 1)});
  if (rows % chunk != 0) parts.push_back({rows % chunk, 1});
  return parts;
}

}  // namespace

Ops::Ops(Tape& tape, const Job& job, const ModelConfig& model, Work* work)
    : tape_(tape),
      job_(job),
      model_(model),
      element_(element_of(job.compute.dtype)),
      narrow_(element_ != Element::fp32),
      work_(work) {}

void Ops::add_work(const Call& call, double times) const {
  if (work_ != nullptr) work_->add(call, times * times_);
}

void Ops::work(Operation operation, std::uint64_t numbers) const {
  add_work({operation, job_.compute.dtype, {numbers, 1, 1}});
}

void Ops::work(Operation operation, const Meta& numbers) const {
  DType dtype = DType::fp32;
  if (numbers.element == Element::bf16) dtype = DType::bf16;
  if (numbers.element == Element::fp16) dtype = DType::fp16;
  add_work({operation, dtype, {numbers.elements(), 1, 1}});
}

Tensor Ops::temporary(Name name, Shape shape, Element element) const {
  return tape_.empty(name, {shape, element}, Component::workspace);
}

Tensor Ops::widened(Name name, const Shape& shape) const {
  return narrow_ ? temporary(name, shape) : Tensor{};
}

NormResult Ops::rms_norm(const Tensor& x, std::uint64_t width) const {
  const std::uint64_t rows = x.elements() / width;
  NormResult result{tape_.empty("norm", x), tape_.empty("norm.rstd", {{rows, 1}, Element::fp32})};
  const Tensor factor = model_.gemma ? temporary("norm.factor", {width}) : Tensor{};
  const Tensor block = widened("norm.block", {rows_per_block(rows, width), width});
  work(Operation::norm, x.elements());
  return result;
}

void Ops::rms_norm_backward(const Tensor& x, Parameter& weight) const {
  const std::uint64_t width = weight.value.elements();
  work(Operation::norm_backward, x.elements());
  const Shape block = {rows_per_block(x.elements() / width, width), width};
  const Tensor scale =
      model_.gemma ? temporary("norm.scale", {width}) : widened("norm.scale", {width});
  Tensor weight_grad;
  if (weight.trainable) weight_grad = temporary("norm.weight_grad", {width});
  {
    Tensor normed;
    {
      const Tensor wide_x = widened("norm.x", block);
      normed = widened("norm.normed", block);
    }
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
  work(Operation::layer_norm, x.elements());
  return result;
}

void Ops::normalise_backward(const Tensor& x, const Norm& norm) const {
  if (norm.bias == nullptr) return rms_norm_backward(x, *norm.weight);
  layer_norm_backward(x, norm);
}

void Ops::layer_norm_backward(const Tensor& x, const Norm& norm) const {
  const std::uint64_t width = x.shape[1];
  work(Operation::layer_norm_backward, x.elements());
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
  work(Operation::rotary, x.elements());
  if (!narrow_) return;
  const std::uint64_t sample = x.shape[0] / *job_.batch.micro;
  const Tensor moved = temporary("rotary.moved", {sample, x.shape[1] / 2}, element_);
}

Tensor Ops::swiglu(const Tensor& gate) const {
  work(Operation::swiglu, gate.elements());
  return tape_.empty("act", gate);
}

Tensor Ops::swiglu_backward(const Tensor& gate) const {
  work(Operation::swiglu_backward, gate.elements());
  return tape_.empty("up.grad", gate, Component::workspace);
}

Tensor Ops::geglu(const Tensor& gate) const {
  return swiglu(gate);
}

Tensor Ops::geglu_backward(const Tensor& gate) const {
  Tensor up_grad = swiglu_backward(gate);
  const Tensor moved = narrow_ ? temporary("gelu.grad", gate.shape, element_) : Tensor{};
  return up_grad;
}

Tensor Ops::clone(const Tensor& grad) const {
  work(Operation::add, grad.elements());
  return tape_.empty("half.grad", grad, Component::workspace);
}

Tensor Ops::gelu(const Tensor& x) const {
  work(Operation::gelu, x.elements());
  return tape_.empty("act", x);
}

void Ops::gelu_backward(const Tensor& x) const {
  work(Operation::gelu_backward, x.elements());
  if (!narrow_) return;
  const Tensor moved = temporary("gelu.grad", {x.shape[0], x.shape[1]}, element_);
}

// A query that sees a window of keys costs what one in the middle of two windows does.
void Ops::work_attention(Operation efficient, std::uint64_t length, std::uint64_t window) const {
  const bool math = *job_.compute.attention == Attention::math;
  const std::uint64_t seen = math || window == 0 ? length : std::min(length, 2 * window);
  const bool forward = efficient == Operation::attention_forward;
  const Operation kept = forward ? Operation::math_forward : Operation::math_backward;
  const double parts = static_cast<double>(length) / static_cast<double>(seen);
  const double heads = parts * static_cast<double>(*job_.batch.micro * model_.heads);
  add_work({math ? kept : efficient, job_.compute.dtype, {seen, model_.head_dim, 1}}, heads);
  if (model_.score_cap == 0) return;
  // A cap is an exponential for each score that is seen, as gelu is; `math` goes back with one more
  // product.
  add_work(
      {Operation::gelu, job_.compute.dtype, {std::max<std::uint64_t>(1, seen * seen / 2), 1, 1}},
      heads);
  if (math && !forward)
    add_work({Operation::product_forward, job_.compute.dtype, {seen, model_.head_dim, seen}},
             heads);
}

AttentionResult Ops::attention(const Qkv& in, std::uint64_t window) const {
  const std::uint64_t batch = *job_.batch.micro;
  const std::uint64_t rows_of_all = (in.all.defined() ? in.all : in.q).shape[0];
  const std::uint64_t length = rows_of_all / batch;
  work_attention(Operation::attention_forward, length, window);
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

Qkv Ops::attention_backward(const Qkv& in, std::uint64_t window) const {
  const std::uint64_t length = (in.all.defined() ? in.all : in.q).shape[0] / *job_.batch.micro;
  work_attention(Operation::attention_backward, length, window);
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
  work(Operation::cross_entropy, logits.elements());
  const std::uint64_t rows = rows_per_block(logits.shape[0], logits.shape[1]);
  const Tensor block = widened("logits.block", {rows, logits.shape[1]});
  const bool capped = model_.logit_cap > 0;
  const Tensor slopes = capped ? temporary("logits.slopes", {rows, logits.shape[1]}) : Tensor{};
  if (capped) work(Operation::gelu, logits.elements());
  const Tensor losses = temporary("loss.rows", {rows}, Element::int64);  // fp64, which is as wide.
}

Tensor Ops::loss(const Tensor& x, Parameter& head) const {
  const std::uint64_t vocabulary = head.value.shape[0];
  const bool chunked = job_.compute.loss == Loss::chunked;
  Tensor dx;
  if (chunked) dx = temporary("hidden.grad", x.shape, element_);
  const std::uint64_t rows = x.shape[0];
  const std::uint64_t chunk = chunked ? loss_chunk_rows(rows, x.shape[1], vocabulary) : rows;
  for (const auto& [part_rows, times] : chunks(rows, chunk)) {
    times_ = times;
    const Meta part{{part_rows, vocabulary}, element_};
    const Tensor logits = tape_.empty("logits", part, Component::logits);
    product({Operation::product_forward, part.shape[0], x.shape[1], vocabulary, element_});
    cross_entropy(logits);
    if (head.trainable) add_product_to_gradient(head, part.shape[0]);
    if (!chunked) dx = temporary("hidden.grad", x.shape, element_);
    product({Operation::product_input, part.shape[0], vocabulary, x.shape[1], element_});
  }
  times_ = 1;
  return dx;
}

void Ops::evaluate_loss(const Tensor& x, const Parameter& head) const {
  const std::uint64_t vocabulary = head.value.shape[0];
  const std::uint64_t rows = x.shape[0];
  for (const auto& [part, times] : chunks(rows, loss_chunk_rows(rows, x.shape[1], vocabulary))) {
    times_ = times;
    const Tensor logits = tape_.empty("logits", {{part, vocabulary}, element_}, Component::logits);
    product({Operation::product_forward, part, x.shape[1], vocabulary, element_});
    cross_entropy(logits);
  }
  times_ = 1;
}

}  // namespace headroom::estimate::ours
