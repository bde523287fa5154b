// SPDX-License-Identifier: Apache-2.0
#include "trainer/sgd.h"

#include <ATen/ATen.h>

#include <optional>

#include "trainer/kernels/kernels.h"
#include "trainer/ops/fp32_block.h"
#include "trainer/ops/row_blocks.h"
#include "trainer/ops/shared_rows.h"

namespace headroom::trainer {

std::vector<Optimizer::State> Sgd::states_of(std::size_t parameter) const {
  if (momenta_.empty()) return {};
  return {{"momentum", momenta_[parameter]}};
}

void Sgd::add_state(const Parameter& parameter) {
  if (settings_.momentum != 0) momenta_.push_back(at::zeros_like(parameter.value));
}

// By libtorch's operations, a block at a time: in fp32, rounded once.
void Sgd::update_by_libtorch(std::size_t index, Parameter& parameter,
                             const Factors& factors) const {
  const at::Tensor values = parameter.value.view({-1});
  const at::Tensor grads = parameter.grad.view({-1});
  const double rate = learning_rate(factors.rate);
  ops::for_row_blocks(
      values.numel(), ops::block_elements, [&](std::int64_t first, std::int64_t count) {
        const at::Tensor value = ops::widen(values.narrow(0, first, count));
        at::Tensor grad = ops::widen(grads.narrow(0, first, count)) * factors.gradient;
        grad.add_(value, settings_.weight_decay);
        if (!momenta_.empty()) {
          const at::Tensor kept = momenta_[index].view({-1}).narrow(0, first, count);
          const at::Tensor momentum = ops::widen(kept).mul_(settings_.momentum).add_(grad);
          if (!momentum.is_alias_of(kept)) kept.copy_(momentum);
          grad = settings_.nesterov ? grad.add_(momentum, settings_.momentum) : momentum;
        }
        value.add_(grad, -rate);
        const at::Tensor stored = values.narrow(0, first, count);
        if (!value.is_alias_of(stored)) stored.copy_(value);
      });
}

void Sgd::update(std::size_t index, Parameter& parameter, const Factors& factors) {
  if (ops::is_by_libtorch(parameter.value)) return update_by_libtorch(index, parameter, factors);
  const kernels::SgdRates rates{.gradient = static_cast<float>(factors.gradient),
                                .decay = static_cast<float>(settings_.weight_decay),
                                .momentum = static_cast<float>(settings_.momentum),
                                .nesterov = settings_.nesterov,
                                .rate = static_cast<float>(learning_rate(factors.rate))};
  ops::Fp32Block value(parameter.value, ops::block_elements);
  ops::Fp32Block grad(parameter.grad, ops::block_elements);
  std::optional<ops::Fp32Block> momentum;
  if (!momenta_.empty()) momentum.emplace(momenta_[index], ops::block_elements);

  const std::int64_t numbers = parameter.value.numel();
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
