// SPDX-License-Identifier: Apache-2.0
#include "trainer/ops/product.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "base/require.h"
#include "estimate/headroom_engine.h"
#include "trainer/kernels/kernels.h"
#include "trainer/ops/by_libtorch.h"
#include "trainer/ops/row_blocks.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer::ops {
namespace {

using kernels::MatrixView;
using kernels::PackedShape;

static_assert(kernels::inner_block == std::int64_t{estimate::product_inner_block});
static_assert(kernels::column_block == std::int64_t{estimate::product_column_block});

// Multiplications below which a second thread costs more than it brings.
constexpr std::int64_t worth_two_threads = std::int64_t{1} << 20U;

MatrixView view_of(const at::Tensor& matrix) {
  return {matrix.data_ptr(), matrix.stride(0), matrix.stride(1),
          matrix.scalar_type() == at::kBFloat16};
}

MatrixView part_of(const MatrixView& matrix, std::int64_t row, std::int64_t column) {
  const std::int64_t offset = row * matrix.row_stride + column * matrix.column_stride;
  MatrixView part = matrix;
  if (matrix.bf16) {
    part.data = static_cast<const std::uint16_t*>(matrix.data) + offset;
  } else {
    part.data = static_cast<const float*>(matrix.data) + offset;
  }
  return part;
}

// Threads share the packing, then the rows; who does what changes no bit.
class Multiplication {
 public:
  Multiplication(float* space, const at::Tensor& out, const at::Tensor& left,
                 const at::Tensor& right, Scaling scaling)
      : space_(space),
        out_{out.data_ptr<float>(), out.stride(0)},
        left_(view_of(left)),
        right_(view_of(right)),
        rows_(left.size(0)),
        inner_(left.size(1)),
        columns_(right.size(1)),
        scaling_(scaling),
        shared_(rows_ * inner_ * columns_ >= worth_two_threads) {}

  void run() const {
    for_row_blocks(columns_, kernels::column_block, [&](std::int64_t column, std::int64_t columns) {
      for_row_blocks(inner_, kernels::inner_block, [&](std::int64_t first, std::int64_t inner) {
        pack(first, column, {inner, columns});
        multiply(first, column, {inner, columns});
      });
    });
  }

 private:
  template <class Work>
  void share(std::int64_t count, const Work& work) const {
    if (shared_) {
      at::parallel_for(0, count, 1, work);
    } else {
      work(0, count);
    }
  }

  void pack(std::int64_t first, std::int64_t column, const PackedShape& shape) const {
    const MatrixView part = part_of(right_, first, column);
    share(shape.panels(), [&](std::int64_t begin, std::int64_t end) {
      kernels::kernels().pack(part, shape, begin, end, space_);
    });
  }

  void multiply(std::int64_t first, std::int64_t column, const PackedShape& shape) const {
    const MatrixView part = part_of(left_, 0, first);
    const kernels::Factors factors{static_cast<float>(first == 0 ? scaling_.beta : 1),
                                   static_cast<float>(scaling_.alpha)};
    const std::int64_t group = kernels::row_group;
    share((rows_ + group - 1) / group, [&](std::int64_t begin, std::int64_t end) {
      kernels::kernels().multiply({out_.data + column, out_.row_stride}, part, {space_, shape},
                                  {begin * group, std::min(rows_, end * group)}, factors);
    });
  }

  float* space_;
  kernels::OutView out_;
  MatrixView left_;
  MatrixView right_;
  std::int64_t rows_;
  std::int64_t inner_;
  std::int64_t columns_;
  Scaling scaling_;
  bool shared_;
};

void product_into_bf16(const at::Tensor& space, const at::Tensor& out, const at::Tensor& left,
                       const at::Tensor& right, Scaling scaling) {
  constexpr auto edge = static_cast<std::int64_t>(estimate::product_sum_rows);
  for_row_blocks(
      out.size(1), kernels::column_block, [&](std::int64_t column, std::int64_t columns) {
        for_row_blocks(out.size(0), edge, [&](std::int64_t row, std::int64_t rows) {
          const at::Tensor target = out.narrow(0, row, rows).narrow(1, column, columns);
          const at::Tensor sum = at::empty({rows, columns}, out.options().dtype(at::kFloat));
          if (scaling.beta != 0) sum.copy_(target);
          product_in(space, sum, left.narrow(0, row, rows), right.narrow(1, column, columns),
                     scaling);
          target.copy_(sum);
        });
      });
}

bool is_blas(const at::Device& device, at::ScalarType dtype) {
  return dtype == at::kDouble || is_by_libtorch(device);
}

void multiply_by_blas(const at::Tensor& out, const at::Tensor& left, const at::Tensor& right,
                      Scaling scaling) {
  if (out.scalar_type() == left.scalar_type()) {
    out.addmm_(left, right, scaling.beta, scaling.alpha);
  } else {
    out.addmm_(widen(left), widen(right), scaling.beta, scaling.alpha);
  }
}

}  // namespace

at::Tensor product_space(std::int64_t inner, std::int64_t columns,
                         const at::TensorOptions& factor) {
  if (is_blas(factor.device(), c10::typeMetaToScalarType(factor.dtype()))) return {};
  const TagScope scope(allocator::Component::workspace);
  const auto elements = estimate::product_space(static_cast<std::uint64_t>(inner),
                                                static_cast<std::uint64_t>(columns));
  return at::empty({static_cast<std::int64_t>(elements)}, at::kFloat);
}

void product_in(const at::Tensor& space, const at::Tensor& out, const at::Tensor& left,
                const at::Tensor& right, Scaling scaling) {
  if (is_blas(out.device(), out.scalar_type())) return multiply_by_blas(out, left, right, scaling);
  require(out.size(1) == 1 || out.stride(1) == 1, "columns of a product's result lie side by side");
  require(
      left.size(1) == right.size(0) && out.size(0) == left.size(0) && out.size(1) == right.size(1),
      "the factors and the result of a product have matching shapes");
  Multiplication(space.data_ptr<float>(), out, left, right, scaling).run();
}

void product_(const at::Tensor& out, const at::Tensor& left, const at::Tensor& right,
              Scaling scaling) {
  if (out.stride(1) != 1 && out.stride(0) == 1) {  // Columns of the other way round.
    product_(out.t(), right.t(), left.t(), scaling);
    return;
  }
  const TagScope scope(allocator::Component::workspace);
  if (is_blas(out.device(), out.scalar_type())) return multiply_by_blas(out, left, right, scaling);
  const at::Tensor space = product_space(left.size(1), right.size(1), left.options());
  if (out.scalar_type() == at::kBFloat16) {
    product_into_bf16(space, out, left, right, scaling);
  } else {
    product_in(space, out, left, right, scaling);
  }
}

at::Tensor product(const at::Tensor& left, const at::Tensor& right) {
  at::Tensor out = at::empty({left.size(0), right.size(1)}, left.options());
  product_(out, left, right);
  return out;
}

}  // namespace headroom::trainer::ops
