// SPDX-License-Identifier: Apache-2.0
#include "trainer/adamw8bit.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/require.h"
#include "trainer/kernels/kernels.h"
#include "trainer/ops/row_blocks.h"
#include "trainer/ops/shared_rows.h"
#include "trainer/quantised/moments.h"

namespace headroom::trainer {
namespace {

using quantised::MomentCodes;

constexpr auto block_size = static_cast<std::int64_t>(quantised::moment_block);

std::int64_t count_blocks(std::int64_t numbers) {
  return (numbers + block_size - 1) / block_size;
}

// The bytes of a moment and their scales, one per block.
struct Moment {
  at::Tensor codes;
  at::Tensor scales;
};

// Of one parameter, or of as much of it as begins with a block; all flat.
struct Numbers {
  at::Tensor value;
  at::Tensor grad;
  Moment mean;
  Moment variance;
};

// A block in fp32, on the stack.
using Block = std::array<float, quantised::moment_block>;

struct MomentBlock {
  std::uint8_t* codes;
  float* scale;
  const MomentCodes& values;

  void read(std::span<float> out) const { values.read(codes, *scale, out); }
  void write(std::span<const float> numbers) const { *scale = values.write(numbers, codes); }
};

MomentBlock block_of(const Moment& moment, std::int64_t block, const MomentCodes& values) {
  return {moment.codes.data_ptr<std::uint8_t>() + block * block_size,
          moment.scales.data_ptr<float>() + block, values};
}

// `Number` is what value and gradient are stored as.
template <class Number>
void step_by_kernels(const Numbers& numbers, const kernels::AdamWRates& rates) {
  auto* const values = numbers.value.data_ptr<Number>();
  const auto* const grads = numbers.grad.data_ptr<Number>();
  const std::int64_t all = numbers.value.numel();
  ops::share_rows(count_blocks(all), block_size, [&](std::int64_t begin, std::int64_t end) {
    Block value, grad, mean, variance;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i * block_size;
      const std::int64_t count = std::min(block_size, all - first);
      const auto part = [&](Block& block) {
        return std::span<float>(block).first(static_cast<std::size_t>(count));
      };
      const MomentBlock mean_block = block_of(numbers.mean, i, MomentCodes::of_means());
      const MomentBlock variance_block = block_of(numbers.variance, i, MomentCodes::of_squares());
      mean_block.read(part(mean));
      variance_block.read(part(variance));
      std::copy_n(values + first, count, value.begin());
      std::copy_n(grads + first, count, grad.begin());
      kernels::kernels().adamw({value.data(), grad.data(), mean.data(), variance.data(), count},
                               rates);
      std::transform(value.begin(), value.begin() + count, values + first,
                     [](float number) { return static_cast<Number>(number); });
      mean_block.write(part(mean));
      variance_block.write(part(variance));
    }
  });
}

at::Tensor on_device_of(const at::Tensor& tensor, std::span<const float> numbers) {
  return at::tensor(at::ArrayRef<float>(numbers.data(), numbers.size()),
                    at::TensorOptions().dtype(at::kFloat))
      .to(tensor.device());
}

// Some whole blocks of one moment, as libtorch's operations read and write them.
class MomentRows {
 public:
  explicit MomentRows(const MomentCodes& codes, const at::Tensor& like)
      : values_(on_device_of(like, codes.values())),
        borders_(on_device_of(like, codes.borders())) {}

  // fp32 [blocks · block_size], zero behind the last number.
  at::Tensor read(const Moment& moment) const {
    const std::int64_t count = moment.codes.numel();
    at::Tensor numbers = at::zeros({moment.scales.numel() * block_size}, values_.options());
    numbers.narrow(0, 0, count).copy_(values_.index_select(0, moment.codes.to(at::kInt)));
    numbers.view({-1, block_size}).mul_(moment.scales.view({-1, 1}));
    return numbers;
  }

  // Uses up what read() gave.
  void write(at::Tensor numbers, const Moment& moment) const {
    constexpr double least_scale = 1e-38;  // What a block of zeros is divided by.
    const at::Tensor rows = numbers.view({-1, block_size});
    moment.scales.copy_(rows.abs().amax(1));
    rows.div_(moment.scales.clamp_min(least_scale).view({-1, 1}));
    moment.codes.copy_(
        at::bucketize(numbers.narrow(0, 0, moment.codes.numel()), borders_, /*out_int32=*/true));
  }

 private:
  at::Tensor values_;
  at::Tensor borders_;
};

void step_by_libtorch(const Numbers& numbers, const AdamWFactors& factors) {
  const MomentRows means(MomentCodes::of_means(), numbers.value);
  const MomentRows squares(MomentCodes::of_squares(), numbers.value);
  ops::for_row_blocks(
      numbers.value.numel(), ops::block_elements, [&](std::int64_t first, std::int64_t count) {
        const auto part_of = [&](const Moment& whole) {
          return Moment{whole.codes.narrow(0, first, count),
                        whole.scales.narrow(0, first / block_size, count_blocks(count))};
        };
        const Moment mean_part = part_of(numbers.mean);
        const Moment variance_part = part_of(numbers.variance);
        at::Tensor mean = means.read(mean_part);
        at::Tensor variance = squares.read(variance_part);
        take_adamw_step(
            {numbers.value.narrow(0, first, count), numbers.grad.narrow(0, first, count),
             mean.narrow(0, 0, count), variance.narrow(0, 0, count)},
            factors);
        means.write(std::move(mean), mean_part);
        squares.write(std::move(variance), variance_part);
      });
}

void take_step(const Numbers& numbers, const AdamWFactors& factors) {
  static_assert(ops::block_elements % block_size == 0, "blocks of libtorch's are whole ones");
  if (ops::is_by_libtorch(numbers.value)) return step_by_libtorch(numbers, factors);
  const kernels::AdamWRates rates = factors.in_fp32();
  switch (numbers.value.scalar_type()) {
    case at::kFloat:
      return step_by_kernels<float>(numbers, rates);
    case at::kBFloat16:
      return step_by_kernels<at::BFloat16>(numbers, rates);
    case at::kHalf:
      return step_by_kernels<at::Half>(numbers, rates);
    default:
      require(false, "optimizers but AdamW compute in fp32");
  }
}

}  // namespace

std::vector<Optimizer::StateShape> AdamW8bit::shape_states(at::IntArrayRef sizes,
                                                           at::ScalarType) const {
  const std::int64_t numbers = c10::multiply_integers(sizes);
  if (numbers < least_quantised)
    return {{"mean", sizes.vec(), at::kFloat}, {"variance", sizes.vec(), at::kFloat}};
  const std::vector<std::int64_t> blocks = {count_blocks(numbers)};
  return {{"mean", sizes.vec(), at::kByte},
          {"mean_scale", blocks, at::kFloat, block_size},
          {"variance", sizes.vec(), at::kByte},
          {"variance_scale", blocks, at::kFloat, block_size}};
}

void AdamW8bit::update(const Part& part, const Factors& factors) {
  const AdamWFactors step = adamw_factors(settings_, steps(), factors);
  std::vector<at::Tensor> states;
  for (const at::Tensor& state : part.states) states.push_back(state.view({-1}));
  const at::Tensor value = part.value.view({-1});
  const at::Tensor grad = part.grad.view({-1});
  if (states.size() == 2) return take_adamw_step({value, grad, states[0], states[1]}, step);
  take_step({value, grad, {states[0], states[1]}, {states[2], states[3]}}, step);
}

}  // namespace headroom::trainer
