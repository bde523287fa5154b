// SPDX-License-Identifier: Apache-2.0
#include "trainer/ops/linear.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "trainer/ops/product.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer::ops {
namespace {

using allocator::Component;

void add_adapter(const Adapter& adapter, const at::Tensor& x, at::Tensor& y, LinearSaved& saved) {
  at::Tensor a, b;
  {
    const TagScope scope(Component::workspace);
    a = adapter.a->value.to(x.scalar_type());
    b = adapter.b->value.to(x.scalar_type());
  }
  saved.reduced = product(x, a.t());
  product_(y, saved.reduced, b.t(), {.beta = 1, .alpha = adapter.scale});
}

void adapter_backward(const Adapter& adapter, const at::Tensor& grad, const at::Tensor& x,
                      const LinearSaved& saved, at::Tensor* dx) {
  const at::Tensor a = adapter.a->value.to(grad.scalar_type());
  const at::Tensor b = adapter.b->value.to(grad.scalar_type());
  add_product_to_gradient(*adapter.b, grad.t(), saved.reduced, adapter.scale);
  const at::Tensor reduced_grad = product(grad, b).mul_(adapter.scale);
  const bool drops = saved.dropped.defined();
  add_product_to_gradient(*adapter.a, reduced_grad.t(),
                          drops ? drop_input(adapter, x, saved.dropped) : x);
  if (dx == nullptr) return;
  if (drops) {
    at::Tensor through = product(reduced_grad, a);
    through.masked_fill_(saved.dropped, 0);
    dx->add_(through, 1 / (1 - adapter.dropout));
  } else {
    product_(*dx, reduced_grad, a, {.beta = 1});
  }
}

}  // namespace

at::Tensor Linear::matrix(at::ScalarType dtype) const {
  if (const QuantisedRows& rows = weight->quantised; rows.matrix != nullptr) {
    const TagScope scope(Component::workspace);
    return rows.matrix->dequantise(rows.first, rows.count, dtype);
  }
  return stored_by_input ? weight->value.t() : weight->value;
}

at::Tensor drop_input(const Adapter& adapter, const at::Tensor& x, const at::Tensor& dropped) {
  const TagScope scope(Component::workspace);
  at::Tensor kept = x.clone();
  kept.masked_fill_(dropped, 0);
  return kept.mul_(1 / (1 - adapter.dropout));
}

at::Tensor dropout_mask(const at::Tensor& x, double dropout, std::uint64_t seed) {
  const at::Tensor mask = at::empty(x.sizes(), at::kBool);
  mask.bernoulli_(dropout, at::detail::createCPUGenerator(seed));
  return mask.to(x.device());
}

at::Tensor linear(const Linear& layer, const at::Tensor& x, LinearSaved& saved,
                  std::optional<std::uint64_t> seed) {
  at::Tensor y = product(x, layer.matrix(x.scalar_type()).t());
  if (layer.bias != nullptr) y.add_(layer.bias->value);
  if (!layer.adapter) return y;
  if (seed && layer.adapter->dropout > 0) {
    saved.dropped = dropout_mask(x, layer.adapter->dropout, *seed);
    add_adapter(*layer.adapter, drop_input(*layer.adapter, x, saved.dropped), y, saved);
  } else {
    add_adapter(*layer.adapter, x, y, saved);
  }
  return y;
}

void linear_backward(const Linear& layer, const at::Tensor& grad, const at::Tensor& x,
                     const LinearSaved& saved, at::Tensor* dx) {
  const TagScope scope(Component::workspace);
  if (layer.weight->trainable) {
    if (layer.stored_by_input) {
      add_product_to_gradient(*layer.weight, x.t(), grad);
    } else {
      add_product_to_gradient(*layer.weight, grad.t(), x);
    }
  }
  if (layer.bias != nullptr && layer.bias->trainable) add_row_sum_to_gradient(*layer.bias, grad);
  if (dx != nullptr) {
    const at::Tensor matrix = layer.matrix(grad.scalar_type());
    if (dx->defined()) {
      product_(*dx, grad, matrix, {.beta = 1});
    } else {
      *dx = product(grad, matrix);
    }
  }
  if (layer.adapter) adapter_backward(*layer.adapter, grad, x, saved, dx);
}

}  // namespace headroom::trainer::ops
