// SPDX-License-Identifier: Apache-2.0
#include "trainer/ops/rotary.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <iterator>

#include "trainer/kernels/kernels.h"
#include "trainer/ops/shared_rows.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer::ops {
namespace {

using allocator::Component;

void rotate_rows(const at::Tensor& x, const RotaryTables& tables, const Segments& samples,
                 double direction) {
  const std::int64_t half = tables.cos.size(1);
  const std::int64_t width = x.size(1);
  auto* rows = x.data_ptr<float>();
  const auto* cos = tables.cos.data_ptr<float>();
  const auto* sin = tables.sin.data_ptr<float>();
  share_rows(x.size(0), width, [&](std::int64_t first, std::int64_t end) {
    auto sample = std::prev(
        std::upper_bound(samples.begin(), samples.end(), first,
                         [](std::int64_t row, const Segment& other) { return row < other.first; }));
    for (std::int64_t i = first; i < end; ++i) {
      if (i == sample->first + sample->length) ++sample;
      const std::int64_t position = (i - sample->first) * half;
      const kernels::RotationRow row{cos + position, sin + position, half,
                                     static_cast<float>(direction)};
      for (float* head = rows + i * width; head < rows + (i + 1) * width; head += 2 * half)
        kernels::kernels().rotate(head, head + half, row);
    }
  });
}

void rotate_sample(const at::Tensor& x, const RotaryTables& tables, double direction) {
  const std::int64_t half = tables.cos.size(1);
  const at::Tensor heads = x.view({x.size(0), -1, 2 * half});
  at::Tensor first = heads.narrow(2, 0, half);
  at::Tensor second = heads.narrow(2, half, half);
  const at::Tensor cos = tables.cos.narrow(0, 0, x.size(0)).unsqueeze(1);
  const at::Tensor sin = tables.sin.narrow(0, 0, x.size(0)).unsqueeze(1);
  const at::Tensor moved = first * sin;
  first.mul_(cos).addcmul_(second, sin, -direction);
  second.mul_(cos).add_(moved, direction);
}

void rotate_(at::Tensor& x, const RotaryTables& tables, const Segments& samples, double direction) {
  if (has_kernels(x)) return rotate_rows(x, tables, samples, direction);
  const TagScope scope(Component::workspace);
  for (const Segment& sample : samples)
    rotate_sample(x.narrow(0, sample.first, sample.length), tables, direction);
}

}  // namespace

RotaryTables rotary_tables(std::int64_t longest, std::int64_t head_dim, double theta,
                           const at::TensorOptions& as, const estimate::RotaryScaling& scaling) {
  // Angles in fp64: at position 10⁵ an fp32 product is off by more than the cosine's own precision.
  const auto options = at::TensorOptions().dtype(at::kDouble);
  const at::Tensor exponent = at::arange(0, head_dim, 2, options) / static_cast<double>(head_dim);
  const at::Tensor frequency = at::pow(theta, exponent).reciprocal_();
  if (!scaling.divisors.empty())
    frequency.div_(at::tensor(at::ArrayRef<double>(scaling.divisors), options));
  const at::Tensor angle = at::outer(at::arange(longest, options), frequency);
  return {at::cos(angle).mul_(scaling.magnitude).to(as),
          at::sin(angle).mul_(scaling.magnitude).to(as)};
}

void rotary_(at::Tensor& x, const RotaryTables& tables, const Segments& samples) {
  rotate_(x, tables, samples, 1);
}

void rotary_backward_(at::Tensor& grad, const RotaryTables& tables, const Segments& samples) {
  rotate_(grad, tables, samples, -1);
}

}  // namespace headroom::trainer::ops
