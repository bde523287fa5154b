// SPDX-License-Identifier: Apache-2.0
#include "trainer/adamw.h"

#include <ATen/ATen.h>

#include <cmath>

#include "trainer/kernels/kernels.h"
#include "trainer/ops/row_blocks.h"
#include "trainer/ops/shared_rows.h"

namespace headroom::trainer {

namespace {

struct Numbers {
  const at::Tensor& value;
  const at::Tensor& grad;
  const at::Tensor& mean;
  const at::Tensor& variance;
};

void update_numbers(const Numbers& numbers, const kernels::AdamWRates& rates) {
  const kernels::AdamWRow all{numbers.value.data_ptr<float>(), numbers.grad.data_ptr<float>(),
                              numbers.mean.data_ptr<float>(), numbers.variance.data_ptr<float>(),
                              numbers.value.numel()};
  ops::share_numbers(all.count, [&](std::int64_t first, std::int64_t count) {
    kernels::kernels().adamw(
        {all.value + first, all.grad + first, all.mean + first, all.variance + first, count},
        rates);
  });
}

}  // namespace

// The running means of the gradient and of its square.
std::vector<Optimizer::StateShape> AdamW::shape_states(const at::Tensor& value) const {
  const std::vector<std::int64_t> sizes = value.sizes().vec();
  return {{"mean", sizes, value.scalar_type()}, {"variance", sizes, value.scalar_type()}};
}

void AdamW::update(const Part& part, const Factors& factors) {
  const auto t = static_cast<double>(steps());
  const double taken = learning_rate(factors.rate);
  const double rate = taken / (1 - std::pow(settings_.beta1, t));
  const double root = std::sqrt(1 - std::pow(settings_.beta2, t));

  const at::Tensor value = part.value.view({-1});
  const at::Tensor grad = part.grad.view({-1});
  const at::Tensor mean = part.states[0].view({-1});
  const at::Tensor variance = part.states[1].view({-1});
  if (ops::has_kernels(value) && ops::has_kernels(grad)) {
    const kernels::AdamWRates rates{.gradient = static_cast<float>(factors.gradient),
                                    .mean_part = static_cast<float>(1 - settings_.beta1),
                                    .variance_part = static_cast<float>(1 - settings_.beta2),
                                    .root = static_cast<float>(root),
                                    .epsilon = static_cast<float>(settings_.epsilon),
                                    .keep = static_cast<float>(1 - taken * settings_.weight_decay),
                                    .rate = static_cast<float>(rate)};
    update_numbers({value, grad, mean, variance}, rates);
    return;
  }
  const at::ScalarType sums = ops::wide(value.scalar_type());
  const std::int64_t block = std::min(value.numel(), ops::block_elements);
  const at::Tensor first = at::empty({block}, value.options().dtype(sums));
  const at::Tensor second = at::empty({block}, value.options().dtype(sums));

  // Everything is computed in the two fp32 blocks, so that bf16 states are rounded once per step.
  ops::for_row_blocks(value.numel(), block, [&](std::int64_t start, std::int64_t count) {
    const auto block_of = [&](const at::Tensor& whole) { return whole.narrow(0, start, count); };
    const at::Tensor a = first.narrow(0, 0, count);
    const at::Tensor b = second.narrow(0, 0, count);
    a.copy_(block_of(grad));
    if (factors.gradient != 1) a.mul_(factors.gradient);
    b.copy_(block_of(mean));
    b.lerp_(a, 1 - settings_.beta1);
    block_of(mean).copy_(b);

    a.mul_(a);
    b.copy_(block_of(variance));
    b.lerp_(a, 1 - settings_.beta2);
    block_of(variance).copy_(b);

    b.sqrt_().div_(root).add_(settings_.epsilon);
    a.copy_(block_of(mean));
    a.div_(b);
    b.copy_(block_of(value));
    b.mul_(1 - taken * settings_.weight_decay).add_(a, -rate);
    block_of(value).copy_(b);
  });
}

}  // namespace headroom::trainer
