// SPDX-License-Identifier: Apache-2.0
#include "trainer/gradient_norm.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "trainer/kernels/kernels.h"
#include "trainer/ops/row_blocks.h"
#include "trainer/ops/shared_rows.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {

double sum_of_squares(const std::deque<Parameter>& parameters) {
  const TagScope scope(allocator::Component::workspace);
  double sum = 0;  // In fp64, so that the blocks' order and number hardly show.
  for (const Parameter& parameter : parameters) {
    if (parameter.is_copy) continue;
    const at::Tensor grad = parameter.grad.view({-1});
    ops::for_row_blocks(
        grad.numel(), ops::block_elements, [&](std::int64_t first, std::int64_t count) {
          const at::Tensor block = ops::widen(grad.narrow(0, first, count));
          if (ops::has_kernels(block)) {
            sum += kernels::kernels().sum_of_squares(block.data_ptr<float>(), count);
            return;
          }
          const double norm = at::linalg_vector_norm(block).item<double>();
          sum += norm * norm;
        });
  }
  return sum;
}

double gradient_norm(const std::deque<Parameter>& parameters) {
  return std::sqrt(sum_of_squares(parameters));
}

double clip_factor(double norm, std::optional<double> limit) {
  return limit ? std::min(1.0, *limit / (norm + 1e-6)) : 1.0;
}

}  // namespace headroom::trainer
