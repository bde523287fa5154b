// SPDX-License-Identifier: Apache-2.0
#include "trainer/parameter.h"

#include <ATen/ATen.h>

#include "trainer/torch_memory.h"

namespace headroom::trainer {

using allocator::Component;

void add_product_to_gradient(Parameter& parameter, const at::Tensor& left, const at::Tensor& right,
                             double alpha) {
  if (left.scalar_type() != parameter.value.scalar_type()) {
    const TagScope scope(Component::workspace);
    at::Tensor product = at::mm(left, right);
    add_to_gradient(parameter, product.mul_(alpha));
    return;
  }
  if (parameter.grad.defined()) {
    parameter.grad.addmm_(left, right, 1, alpha);
    return;
  }
  const TagScope scope(Component::gradients);
  parameter.grad = at::empty_like(parameter.value);
  parameter.grad.addmm_(left, right, 0, alpha);
}

void add_row_sum_to_gradient(Parameter& parameter, const at::Tensor& rows) {
  const bool first = !parameter.grad.defined();
  const TagScope scope(first ? Component::gradients : Component::workspace);
  at::Tensor sum = rows.sum(0);
  if (first) {
    parameter.grad = std::move(sum);
  } else {
    parameter.grad.add_(sum);
  }
}

void add_to_gradient(Parameter& parameter, const at::Tensor& addend) {
  if (parameter.grad.defined()) {
    parameter.grad.add_(addend);
    return;
  }
  const TagScope scope(Component::gradients);
  parameter.grad = at::empty_like(parameter.value);
  parameter.grad.copy_(addend);
}

}  // namespace headroom::trainer
