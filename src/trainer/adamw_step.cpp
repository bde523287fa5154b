// SPDX-License-Identifier: Apache-2.0
#include "trainer/adamw_step.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "trainer/ops/row_blocks.h"
#include "trainer/ops/shared_rows.h"

namespace headroom::trainer {
namespace {

void step_by_kernels(const AdamWNumbers& numbers, const AdamWFactors& factors) {
  const kernels::AdamWRow all{numbers.value.data_ptr<float>(), numbers.grad.data_ptr<float>(),
                              numbers.mean.data_ptr<float>(), numbers.variance.data_ptr<float>(),
                              numbers.value.numel()};
  const kernels::AdamWRates rates = factors.in_fp32();
  ops::share_numbers(all.count, [&](std::int64_t first, std::int64_t count) {
    kernels::kernels().adamw(
        {all.value + first, all.grad + first, all.mean + first, all.variance + first, count},
        rates);
  });
}

}  // namespace

kernels::AdamWRates AdamWFactors::in_fp32() const {
  return {.gradient = static_cast<float>(gradient),
          .mean_part = static_cast<float>(mean_part),
          .variance_part = static_cast<float>(variance_part),
          .root = static_cast<float>(root),
          .epsilon = static_cast<float>(epsilon),
          .keep = static_cast<float>(keep),
          .rate = static_cast<float>(rate)};
}

AdamWFactors adamw_factors(const AdamWSettings& settings, std::uint64_t t,
                           const StepFactors& factors) {
  const double taken = settings.learning_rate * factors.rate;
  const auto steps = static_cast<double>(t);
  return {.gradient = factors.gradient,
          .mean_part = 1 - settings.beta1,
          .variance_part = 1 - settings.beta2,
          .root = std::sqrt(1 - std::pow(settings.beta2, steps)),
          .epsilon = settings.epsilon,
          .keep = 1 - taken * settings.weight_decay,
          .rate = taken / (1 - std::pow(settings.beta1, steps))};
}

void take_adamw_step(const AdamWNumbers& numbers, const AdamWFactors& factors) {
  const at::Tensor& value = numbers.value;
  if (ops::has_kernels(value) && ops::has_kernels(numbers.grad))
    return step_by_kernels(numbers, factors);
  const at::ScalarType sums = ops::wide(value.scalar_type());
  const std::int64_t block = std::min(value.numel(), ops::block_elements);
  const at::Tensor first = at::empty({block}, value.options().dtype(sums));
  const at::Tensor second = at::empty({block}, value.options().dtype(sums));

  // Everything is computed in the two fp32 blocks, so that bf16 states are rounded once per step.
  ops::for_row_blocks(value.numel(), block, [&](std::int64_t start, std::int64_t count) {
    const auto block_of = [&](const at::Tensor& whole) { return whole.narrow(0, start, count); };
    const at::Tensor a = first.narrow(0, 0, count);
    const at::Tensor b = second.narrow(0, 0, count);
    a.copy_(block_of(numbers.grad));
    if (factors.gradient != 1) a.mul_(factors.gradient);
    b.copy_(block_of(numbers.mean));
    b.lerp_(a, factors.mean_part);
    block_of(numbers.mean).copy_(b);

    a.mul_(a);
    b.copy_(block_of(numbers.variance));
    b.lerp_(a, factors.variance_part);
    block_of(numbers.variance).copy_(b);

    b.sqrt_().div_(factors.root).add_(factors.epsilon);
    a.copy_(block_of(numbers.mean));
    a.div_(b);
    b.copy_(block_of(value));
    b.mul_(factors.keep).add_(a, -factors.rate);
    block_of(value).copy_(b);
  });
}

}  // namespace headroom::trainer
