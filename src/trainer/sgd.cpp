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

void Sgd::update(std::size_t index, Parameter& parameter, const Factors& factors) {
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
