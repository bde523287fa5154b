// SPDX-License-Identifier: Apache-2.0
#include "trainer/ops/linear.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "trainer/torch_memory.h"

namespace headroom::trainer::ops {
namespace {

using allocator::Component;

at::Tensor drop(const Adapter& adapter, const at::Tensor& x, const at::Tensor& dropped) {
  const TagScope scope(Component::workspace);
  at::Tensor kept = x.clone();
  kept.masked_fill_(dropped, 0);
  return kept.mul_(1 / (1 - adapter.dropout));
}

void add_adapter(const Adapter& adapter, const at::Tensor& x, at::Tensor& y, LinearSaved& saved) {
  at::Tensor a, b;
  {
    const TagScope scope(Component::workspace);
    a = adapter.a->value.to(x.scalar_type());
    b = adapter.b->value.to(x.scalar_type());
  }
  saved.reduced = at::mm(x, a.t());
  y.addmm_(saved.reduced, b.t(), 1, adapter.scale);
}

void adapter_backward(const Adapter& adapter, const at::Tensor& grad, const at::Tensor& x,
                      const LinearSaved& saved, at::Tensor* dx) {
  const at::Tensor a = adapter.a->value.to(grad.scalar_type());
  const at::Tensor b = adapter.b->value.to(grad.scalar_type());
  add_product_to_gradient(*adapter.b, grad.t(), saved.reduced, adapter.scale);
  const at::Tensor reduced_grad = at::mm(grad, b).mul_(adapter.scale);
  const bool drops = saved.dropped.defined();
  add_product_to_gradient(*adapter.a, reduced_grad.t(), drops ? drop(adapter, x, saved.dropped) : x);
  if (dx == nullptr) return;
  if (drops) {
    at::Tensor through = at::mm(reduced_grad, a);
    through.masked_fill_(saved.dropped, 0);
    dx->add_(through, 1 / (1 - adapter.dropout));
  } else {
    dx->addmm_(reduced_grad, a);
  }
}

}  // namespace

at::Tensor linear(const Linear& layer, const at::Tensor& x, LinearSaved& saved,
                  std::optional<std::uint64_t> seed) {
  const at::Tensor weight = layer.weight->value.t();
  at::Tensor y =
      layer.bias == nullptr ? at::mm(x, weight) : at::addmm(layer.bias->value, x, weight);
  if (!layer.adapter) return y;
  if (seed && layer.adapter->dropout > 0) {
    saved.dropped = at::empty(x.sizes(), x.options().dtype(at::kBool));
    saved.dropped.bernoulli_(layer.adapter->dropout, at::detail::createCPUGenerator(*seed));
    add_adapter(*layer.adapter, drop(*layer.adapter, x, saved.dropped), y, saved);
  } else {
    add_adapter(*layer.adapter, x, y, saved);
  }
  return y;
}

void linear_backward(const Linear& layer, const at::Tensor& grad, const at::Tensor& x,
                     const LinearSaved& saved, at::Tensor* dx) {
  const TagScope scope(Component::workspace);
  if (layer.weight->trainable) add_product_to_gradient(*layer.weight, grad.t(), x);
  if (layer.bias != nullptr && layer.bias->trainable) add_row_sum_to_gradient(*layer.bias, grad);
  if (dx != nullptr) {
    if (dx->defined()) {
      dx->addmm_(grad, layer.weight->value);
    } else {
      *dx = at::mm(grad, layer.weight->value);
    }
  }
  if (layer.adapter) adapter_backward(*layer.adapter, grad, x, saved, dx);
}

}  // namespace headroom::trainer::ops
