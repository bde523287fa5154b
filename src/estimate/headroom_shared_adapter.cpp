// SPDX-License-Identifier: Apache-2.0
// trainer/ops/shared_adapter.cpp, as what it allocates.
#include "estimate/headroom_ops.h"

namespace headroom::estimate::ours {

void Ops::add_shared_adapter(const Linear& adapter, const Tensor& x,
                             std::initializer_list<const Tensor*> outs, LinearSaved& saved) const {
  const std::uint64_t rows = x.shape[0];
  const std::uint64_t rank = job_.method.rank;
  Tensor kept;
  if (job_.method.dropout > 0) {
    work(Operation::dropout, x.elements());
    saved.dropped = tape_.empty("dropout_mask", {x.shape, Element::uint8});
    kept = temporary("dropped", x.shape, element_);
  }
  Tensor a, b;
  adapter_temporaries(adapter, a, b);
  saved.reduced = tape_.empty("lora_A", {{rows, rank}, element_});
  product({Operation::product_forward, rows, x.shape[1], rank, element_});
  for (const Tensor* out : outs)
    product({Operation::product_forward, rows, rank, out->shape[1], element_});
}

SharedAdapterGradients Ops::begin_shared_adapter_backward(const Linear& adapter) const {
  SharedAdapterGradients gradients;
  adapter_temporaries(adapter, gradients.a, gradients.b);
  return gradients;
}

void Ops::add_shared_adapter_backward(const Linear& adapter, const Tensor& grad,
                                      SharedAdapterGradients& gradients) const {
  Parameter& b = *adapter.lora_b;
  if (!b.grad.defined()) b.grad = tape_.empty("grad", b.value, Component::gradients);
  const std::uint64_t rows = grad.shape[0];
  const std::uint64_t out = grad.shape[1];
  const std::uint64_t rank = job_.method.rank;
  product({Operation::product_weight, out, rows, rank, b.value.element});
  if (!gradients.reduced.defined())
    gradients.reduced = temporary("lora_A.grad", {rows, rank}, element_);
  product({Operation::product_input, rows, out, rank, element_});
}

void Ops::finish_shared_adapter_backward(const Linear& adapter, const Tensor& x,
                                         const LinearSaved& saved, bool through_input) const {
  const std::uint64_t rows = saved.reduced.shape[0];
  const std::uint64_t in = adapter.lora_a->value.shape[1];
  {
    Tensor kept;
    if (saved.dropped.defined()) {
      kept = temporary("dropped", x.shape, element_);
      work(Operation::dropout, x.elements());
    }
    add_product_to_gradient(*adapter.lora_a, rows);
  }
  if (!through_input) return;
  Tensor through;
  if (saved.dropped.defined()) {
    through = temporary("through", {rows, in}, element_);
    work(Operation::add, rows * in);
  }
  product({Operation::product_input, rows, job_.method.rank, in, element_});
}

}  // namespace headroom::estimate::ours
