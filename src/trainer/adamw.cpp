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

std::vector<Optimizer::State> AdamW::states_of(std::size_t parameter) const {
  const Moments& moments = moments_[parameter];
  return {{"mean", moments.mean}, {"variance", moments.variance}};
}

void AdamW::add_state(const Parameter& parameter) {
  moments_.push_back({at::zeros_like(parameter.value), at::zeros_like(parameter.value)});
}

void AdamW::update(std::size_t index, Parameter& parameter, const Factors& factors) {
  const auto t = static_cast<double>(steps());
  const double taken = learning_rate(factors.rate);
  const double rate = taken / (1 - std::pow(settings_.beta1, t));
  const double root = std::sqrt(1 - std::pow(settings_.beta2, t));

  const at::Tensor value = parameter.value.view({-1});
  const at::Tensor grad = parameter.grad.view({-1});
  const at::Tensor mean = moments_[index].mean.view({-1});
  const at::Tensor variance = moments_[index].variance.view({-1});
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
    const auto part = [&](const at::Tensor& whole) { return whole.narrow(0, start, count); };
    const at::Tensor a = first.narrow(0, 0, count);
    const at::Tensor b = second.narrow(0, 0, count);
    a.copy_(part(grad));
    if (factors.gradient != 1) a.mul_(factors.gradient);
    b.copy_(part(mean));
    b.lerp_(a, 1 - settings_.beta1);
    part(mean).copy_(b);

    a.mul_(a);
    b.copy_(part(variance));
    b.lerp_(a, 1 - settings_.beta2);
    part(variance).copy_(b);

    b.sqrt_().div_(root).add_(settings_.epsilon);
    a.copy_(part(mean));
    a.div_(b);
    b.copy_(part(value));
    b.mul_(1 - taken * settings_.weight_decay).add_(a, -rate);
    part(value).copy_(b);
  });
}

}  // namespace headroom::trainer
