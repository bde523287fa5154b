// SPDX-License-Identifier: Apache-2.0
#include "trainer/ops/shared_adapter.h"

#include <ATen/ATen.h>

#include "trainer/ops/product.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer::ops {

using allocator::Component;

void add_shared_adapter(const Adapter& adapter, const at::Tensor& x,
                        std::initializer_list<at::Tensor*> outs, LinearSaved& saved,
                        std::optional<std::uint64_t> seed) {
  at::Tensor kept = x;
  if (seed && adapter.dropout > 0) {
    saved.dropped = dropout_mask(x, adapter.dropout, *seed);
    kept = drop_input(adapter, x, saved.dropped);
  }
  at::Tensor a, b;
  {
    const TagScope scope(Component::workspace);
    a = adapter.a->value.to(x.scalar_type());
    b = adapter.b->value.to(x.scalar_type());
  }
  saved.reduced = product(kept, a.t());
  std::int64_t row = 0;
  for (const at::Tensor* out : outs) {
    const at::Tensor rows = b.narrow(0, row, out->size(1));
    product_(*out, saved.reduced, rows.t(), {.beta = 1, .alpha = adapter.scale});
    row += out->size(1);
  }
}

SharedAdapterBackward::SharedAdapterBackward(const Adapter& adapter, const LinearSaved& saved,
                                             at::ScalarType dtype)
    : adapter_(adapter), saved_(saved), first_(!adapter.b->grad.defined()) {
  const TagScope scope(Component::workspace);
  a_ = adapter.a->value.to(dtype);
  b_ = adapter.b->value.to(dtype);
}

void SharedAdapterBackward::add(const at::Tensor& grad) {
  Parameter& b = *adapter_.b;
  if (!b.grad.defined()) {
    const TagScope scope(Component::gradients);
    b.grad = at::empty_like(b.value);
  }
  const TagScope scope(Component::workspace);
  const std::int64_t rows = grad.size(1);
  product_(b.grad.narrow(0, row_, rows), grad.t(), saved_.reduced,
           {.beta = first_ ? 0.0 : 1.0, .alpha = adapter_.scale});
  const at::Tensor part = b_.narrow(0, row_, rows);
  if (reduced_.defined()) {
    product_(reduced_, grad, part, {.beta = 1});
  } else {
    reduced_ = product(grad, part);
  }
  row_ += rows;
}

void SharedAdapterBackward::finish(const at::Tensor& x, at::Tensor* dx) {
  const TagScope scope(Component::workspace);
  reduced_.mul_(adapter_.scale);
  const bool drops = saved_.dropped.defined();
  add_product_to_gradient(*adapter_.a, reduced_.t(),
                          drops ? drop_input(adapter_, x, saved_.dropped) : x);
  if (dx == nullptr) return;
  if (!drops) return product_(*dx, reduced_, a_, {.beta = 1});
  at::Tensor through = product(reduced_, a_);
  through.masked_fill_(saved_.dropped, 0);
  dx->add_(through, 1 / (1 - adapter_.dropout));
}

}  // namespace headroom::trainer::ops
