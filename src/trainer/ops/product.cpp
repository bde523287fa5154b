// SPDX-License-Identifier: Apache-2.0
#include "trainer/ops/product.h"

#include <ATen/ATen.h>

#include "estimate/headroom_engine.h"
#include "trainer/ops/row_blocks.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer::ops {

void product_(const at::Tensor& out, const at::Tensor& left, const at::Tensor& right,
              Scaling scaling) {
  if (left.scalar_type() == wide(left.scalar_type())) {
    out.addmm_(left, right, scaling.beta, scaling.alpha);
    return;
  }
  const TagScope scope(allocator::Component::workspace);
  const auto edge =
      static_cast<std::int64_t>(estimate::product_block(static_cast<std::uint64_t>(left.size(1))));
  for_row_blocks(out.size(1), edge, [&](std::int64_t column, std::int64_t columns) {
    const at::Tensor wide_right = widen(right.narrow(1, column, columns));
    for_row_blocks(out.size(0), edge, [&](std::int64_t row, std::int64_t rows) {
      const at::Tensor wide_left = widen(left.narrow(0, row, rows));
      const at::Tensor target = out.narrow(0, row, rows).narrow(1, column, columns);
      const at::Tensor sum = widen(target);
      sum.addmm_(wide_left, wide_right, scaling.beta, scaling.alpha);
      if (!sum.is_alias_of(target)) target.copy_(sum);
    });
  });
}

at::Tensor product(const at::Tensor& left, const at::Tensor& right) {
  at::Tensor out = at::empty({left.size(0), right.size(1)}, left.options());
  product_(out, left, right);
  return out;
}

}  // namespace headroom::trainer::ops
