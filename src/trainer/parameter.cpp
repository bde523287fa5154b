// SPDX-License-Identifier: Apache-2.0
#include "trainer/parameter.h"

#include <ATen/ATen.h>

#include "trainer/ops/product.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {

using allocator::Component;

void add_product_to_gradient(Parameter& parameter, const at::Tensor& left, const at::Tensor& right,
                             double alpha) {
  const bool first = !parameter.grad.defined();
  if (first) {
    const TagScope scope(Component::gradients);
    parameter.grad = at::empty_like(parameter.value);
  }
  ops::product_(parameter.grad, left, right, {.beta = first ? 0.0 : 1.0, .alpha = alpha});
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

void drop_gradients(std::deque<Parameter>& parameters) {
  for (Parameter& parameter : parameters) parameter.grad.reset();
}

}  // namespace headroom::trainer
