// SPDX-License-Identifier: Apache-2.0
#include "trainer/quantised_matrix.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/require.h"
#include "estimate/headroom_quantised.h"
#include "trainer/quantised/blockwise.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {
namespace {

using estimate::WeightFormat;

static_assert(quantised::nf4_block == estimate::nf4_block);
static_assert(quantised::scale_block == estimate::scale_block);

// Numbers that are made again at a time, on the stack of the thread that does it.
constexpr std::int64_t piece = 16 * quantised::nf4_block;

template <class Rounded>
void round_to(float* numbers, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    numbers[i] = static_cast<float>(static_cast<Rounded>(numbers[i]));
}

void round_to(at::ScalarType dtype, float* numbers, std::int64_t count) {
  if (dtype == at::kBFloat16) round_to<c10::BFloat16>(numbers, count);
  if (dtype == at::kHalf) round_to<c10::Half>(numbers, count);
}

template <class To>
void store(const float* numbers, std::int64_t count, void* to, std::int64_t first) {
  To* out = static_cast<To*>(to) + first;
  for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<To>(numbers[i]);
}

void store(const float* numbers, std::int64_t count, const at::Tensor& to, std::int64_t first) {
  switch (to.scalar_type()) {
    case at::kBFloat16:
      return store<c10::BFloat16>(numbers, count, to.data_ptr(), first);
    case at::kDouble:
      return store<double>(numbers, count, to.data_ptr(), first);
    default:
      require(to.scalar_type() == at::kFloat, "weights are made again in fp64, fp32 or bf16");
      return store<float>(numbers, count, to.data_ptr(), first);
  }
}

}  // namespace

QuantisedMatrix::QuantisedMatrix(WeightFormat format, std::int64_t rows, std::int64_t columns,
                                 at::ScalarType dtype)
    : format_(format), rows_(rows), columns_(columns), dtype_(dtype) {
  const estimate::QuantisedSizes sizes = estimate::quantised_sizes(
      format, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns));
  const auto size = [](std::uint64_t count) { return static_cast<std::int64_t>(count); };
  if (format == WeightFormat::int8) {
    packed_ = at::empty({rows, columns}, at::kChar);
  } else {
    packed_ = at::empty({size(sizes.packed_bytes), 1}, at::kByte);
  }
  scales_ =
      at::empty({size(sizes.scales)}, format == WeightFormat::nf4_dq ? at::kByte : at::kFloat);
  if (format == WeightFormat::nf4_dq) nested_ = at::empty({size(sizes.nested)}, at::kFloat);
}

void QuantisedMatrix::dequantise(std::int64_t first, std::int64_t count, float* out) const {
  if (format_ != WeightFormat::int8) {
    quantised::Scales scales;
    if (format_ == WeightFormat::nf4) {
      scales.plain = scales_.data_ptr<float>();
    } else {
      scales = {nullptr, scales_.data_ptr<std::uint8_t>(), nested_.data_ptr<float>(), offset_};
    }
    quantised::dequantise_nf4({packed_.data_ptr<std::uint8_t>(), scales},
                              static_cast<std::size_t>(first),
                              {out, static_cast<std::size_t>(count)});
    return;
  }
  for (std::int64_t i = first; i < first + count;) {
    const std::int64_t row = i / columns_;
    const std::int64_t end = std::min(first + count, (row + 1) * columns_);
    quantised::dequantise_int8(packed_.data_ptr<std::int8_t>() + i, scales_.data_ptr<float>()[row],
                               {out + (i - first), static_cast<std::size_t>(end - i)});
    i = end;
  }
}

at::Tensor QuantisedMatrix::dequantise(std::int64_t first_row, std::int64_t rows,
                                       at::ScalarType dtype) const {
  at::Tensor whole = at::empty({rows, columns_}, dtype);
  const std::int64_t first = first_row * columns_, count = rows * columns_;
  at::parallel_for(0, (count + piece - 1) / piece, 64, [&](std::int64_t begin, std::int64_t end) {
    std::array<float, piece> numbers;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled.
    for (std::int64_t i = begin * piece; i < std::min(count, end * piece); i += piece) {
      const std::int64_t length = std::min(piece, count - i);
      dequantise(first + i, length, numbers.data());
      round_to(dtype_, numbers.data(), length);
      store(numbers.data(), length, whole, i);
    }
  });
  return whole;
}

Quantiser::Quantiser(QuantisedMatrix& into) : into_(into), scales_(into.scales()) {
  if (into.format() != WeightFormat::nf4_dq) return;
  const TagScope scope(allocator::Component::workspace);
  scales_ = at::empty(into.scales().sizes(), at::kFloat);
}

void Quantiser::add(const at::Tensor& numbers) {
  require(numbers.is_contiguous() && done_ + numbers.numel() <= into_.numbers(),
          "what is quantised lies side by side and belongs to the matrix");
  const bool by_row = into_.format() == WeightFormat::int8;
  const std::int64_t block =
      by_row ? into_.columns() : static_cast<std::int64_t>(quantised::nf4_block);
  require(done_ % block == 0, "what is quantised begins with a block");
  const std::int64_t count = numbers.numel();
  const std::int64_t grain = by_row ? block : piece;
  const at::Tensor flat = numbers.view({-1});
  at::parallel_for(0, (count + grain - 1) / grain, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin * grain; i < std::min(count, end * grain); i += grain) {
      const std::int64_t length = std::min(grain, count - i);
      std::vector<float> values(static_cast<std::size_t>(length));
      AT_DISPATCH_FLOATING_TYPES_AND2(
          at::kBFloat16, at::kHalf, flat.scalar_type(), "quantise", [&] {
            const scalar_t* from = flat.data_ptr<scalar_t>() + i;
            std::transform(from, from + length, values.begin(),
                           [](scalar_t value) { return static_cast<float>(value); });
          });
      float* scales = scales_.data_ptr<float>() + (done_ + i) / block;
      if (by_row) {
        *scales =
            quantised::quantise_int8(values, into_.packed().data_ptr<std::int8_t>() + done_ + i);
      } else {
        quantised::quantise_nf4(values, into_.packed().data_ptr<std::uint8_t>() + (done_ + i) / 2,
                                scales);
      }
    }
  });
  done_ += count;
}

void Quantiser::finish() {
  require(done_ == into_.numbers(), "a whole matrix has been quantised");
  if (into_.format() != WeightFormat::nf4_dq) return;
  into_.set_offset(quantised::quantise_scales(
      {scales_.data_ptr<float>(), static_cast<std::size_t>(scales_.numel())},
      into_.scales().data_ptr<std::uint8_t>(), into_.nested().data_ptr<float>()));
}

}  // namespace headroom::trainer
