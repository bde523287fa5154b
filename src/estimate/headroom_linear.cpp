// SPDX-License-Identifier: Apache-2.0
// Products, projections and their adapters (src/trainer/ops/product.cpp, linear.cpp).
#include <algorithm>

#include "estimate/headroom_engine.h"
#include "estimate/headroom_ops.h"

namespace headroom::estimate::ours {

void Ops::adapter_temporaries(const Linear& layer, Tensor& a, Tensor& b) const {
  if (layer.lora_a->value.element == element_) return;
  a = temporary("lora_A.cast", layer.lora_a->value.shape, element_);
  b = temporary("lora_B.cast", layer.lora_b->value.shape, element_);
}

void Ops::product(const Product& p) const {
  add_work({p.operation, job_.compute.dtype, {p.rows, p.inner, p.columns}});
  const Tensor space = temporary("product.right", {product_space(p.inner, p.columns)});
  if (p.out == Element::fp32) return;
  const Tensor sum = temporary("product.sum", {std::min(p.rows, product_sum_rows),
                                               std::min(p.columns, product_column_block)});
}

// A packed number takes about what an addition in place of it does: both are a pass over memory.
Tensor Ops::dequantised(const Linear& layer) const {
  if (!layer.quantised) return {};
  work(Operation::add, layer.out * layer.in);
  return temporary(layer.name + ".dequantised", {layer.out, layer.in}, element_);
}

Tensor Ops::linear(const Linear& layer, const Tensor& x, LinearSaved& saved) const {
  const std::uint64_t rows = x.shape[0];
  const std::uint64_t in = layer.in;
  const std::uint64_t out = layer.out;
  const Meta output{{rows, out}, element_};
  Tensor whole = dequantised(layer);
  Tensor y = tape_.empty(layer.name, output);
  product({Operation::product_forward, rows, in, out, element_});
  whole = {};
  if (layer.bias != nullptr) work(Operation::add, y.elements());
  if (layer.lora_a == nullptr) return y;
  Tensor kept;
  if (job_.method.dropout > 0) {
    work(Operation::dropout, x.elements());
    saved.dropped = tape_.empty("dropout_mask", {x.shape, Element::uint8});
    kept = temporary("dropped", x.shape, element_);
  }
  Tensor a, b;
  adapter_temporaries(layer, a, b);
  const std::uint64_t rank = job_.method.rank;
  saved.reduced = tape_.empty("lora_A", {{rows, rank}, element_});
  product({Operation::product_forward, rows, in, rank, element_});
  product({Operation::product_forward, rows, rank, out, element_});
  return y;
}

void Ops::add_product_to_gradient(Parameter& parameter, std::uint64_t inner) const {
  if (!parameter.grad.defined()) {
    parameter.grad = tape_.empty("grad", parameter.value, Component::gradients);
  }
  const Meta& value = parameter.value;
  product({Operation::product_weight, value.shape[0], inner, value.shape[1], value.element});
}

void Ops::linear_backward(const Linear& layer, const Tensor& grad, const Tensor& x,
                          LinearSaved& saved, Tensor* dx) const {
  const std::uint64_t rows = grad.shape[0];
  if (layer.weight->trainable) add_product_to_gradient(*layer.weight, rows);
  if (layer.bias != nullptr && layer.bias->trainable && !layer.bias->grad.defined()) {
    layer.bias->grad = tape_.empty("bias.grad", layer.bias->value, Component::gradients);
  }
  if (layer.bias != nullptr && layer.bias->trainable) work(Operation::add, grad.elements());
  const Shape input = {rows, layer.in};
  if (dx != nullptr) {
    const Tensor whole = dequantised(layer);
    if (!dx->defined()) *dx = temporary("input.grad", input, element_);
    product({Operation::product_input, rows, layer.out, layer.in, element_});
  }
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
  product({Operation::product_input, rows, layer.out, rank, element_});
  {
    Tensor kept;
    if (saved.dropped.defined()) {
      kept = temporary("dropped", x.shape, element_);
      work(Operation::dropout, x.elements());
    }
    add_product_to_gradient(*layer.lora_a, rows);
  }
  if (!through_input) return;
  Tensor through;
  if (saved.dropped.defined()) {
    through = temporary("through", input, element_);
    work(Operation::add, rows * input[1]);
  }
  product({Operation::product_input, rows, rank, input[1], element_});
}

}  // namespace headroom::estimate::ours
