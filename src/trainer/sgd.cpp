// SPDX-License-Identifier: Apache-2.0
#include "trainer/sgd.h"

#include <ATen/ATen.h>

#include <optional>

#include "trainer/kernels/kernels.h"
#include "trainer/ops/fp32_block.h"
#include "trainer/ops/row_blocks.h"
#include "trainer/ops/shared_rows.h"

namespace headroom::trainer {

std::vector<Optimizer::StateShape> Sgd::shape_states(at::IntArrayRef sizes,
                                                     at::ScalarType type) const {
  if (settings_.momentum == 0) return {};
  return {{"momentum", sizes.vec(), type}};
}

// By libtorch's operations, a block at a time: in fp32, rounded once.
void Sgd::update_by_libtorch(const Part& part, const Factors& factors) const {
  const at::Tensor values = part.value.view({-1});
  const at::Tensor grads = part.grad.view({-1});
  const double rate = learning_rate(factors.rate);
  ops::for_row_blocks(
      values.numel(), ops::block_elements, [&](std::int64_t first, std::int64_t count) {
        const at::Tensor value = ops::widen(values.narrow(0, first, count));
        at::Tensor grad = ops::widen(grads.narrow(0, first, count)) * factors.gradient;
        grad.add_(value, settings_.weight_decay);
        if (!part.states.empty()) {
          const at::Tensor kept = part.states[0].view({-1}).narrow(0, first, count);
          const at::Tensor momentum = ops::widen(kept).mul_(settings_.momentum).add_(grad);
          if (!momentum.is_alias_of(kept)) kept.copy_(momentum);
          grad = settings_.nesterov ? grad.add_(momentum, settings_.momentum) : momentum;
        }
        value.add_(grad, -rate);
        const at::Tensor stored = values.narrow(0, first, count);
        if (!value.is_alias_of(stored)) stored.copy_(value);
      });
}

void Sgd::update(const Part& part, const Factors& factors) {
  if (ops::is_by_libtorch(part.value)) return update_by_libtorch(part, factors);
  const kernels::SgdRates rates{.gradient = static_cast<float>(factors.gradient),
                                .decay = static_cast<float>(settings_.weight_decay),
                                .momentum = static_cast<float>(settings_.momentum),
                                .nesterov = settings_.nesterov,
                                .rate = static_cast<float>(learning_rate(factors.rate))};
  ops::Fp32Block value(part.value, ops::block_elements);
  ops::Fp32Block grad(part.grad, ops::block_elements);
  std::optional<ops::Fp32Block> momentum;
  if (!part.states.empty()) momentum.emplace(part.states[0], ops::block_elements);

  const std::int64_t numbers = part.value.numel();
  ops::for_row_blocks(numbers, value.most(), [&](std::int64_t first, std::int64_t count) {
    const kernels::SgdRow row{value.load(first, count), grad.load(first, count),
                              momentum ? momentum->load(first, count) : nullptr, count};
    ops::share_numbers(count, [&](std::int64_t begin, std::int64_t size) {
      kernels::kernels().sgd({row.value + begin, row.grad + begin,
                              row.momentum == nullptr ? nullptr : row.momentum + begin, size},
                             rates);
    });
    value.store(first, count);
    if (momentum) momentum->store(first, count);
  });
}

}  // namespace headroom::trainer
