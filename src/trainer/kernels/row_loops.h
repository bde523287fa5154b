// SPDX-License-Identifier: Apache-2.0
// Passes over rows of fp32, sixteen numbers at a time on every processor; what is left at the end
// of a row is computed by the same code on a padded copy. Included as product_loops.h is.
#pragma once

#include "trainer/kernels/vector.h"

namespace headroom::trainer::kernels {
// One copy for each of the files that include it, which are compiled with other options: they must
// not share one.
// NOLINTBEGIN(misc-definitions-in-headers)
namespace {

inline __attribute__((always_inline)) Wide spread_wide(float value) {
  return value - Wide{};
}

inline __attribute__((always_inline)) Wide load_part(const float* from, std::int64_t count,
                                                     float rest = 0) {
  if (count >= width) return load_wide(from);
  Wide part = spread_wide(rest);
  for (std::int64_t i = 0; i < count; ++i) part[i] = from[i];
  return part;
}

inline __attribute__((always_inline)) void store_part(float* to, Wide value, std::int64_t count) {
  if (count >= width) return store_wide(to, value);
  for (std::int64_t i = 0; i < count; ++i) to[i] = value[i];
}

// In halves: the same order on every processor.
inline float add_up(Wide values) {
  for (std::int64_t half = width / 2; half > 0; half /= 2) {
    for (std::int64_t i = 0; i < half; ++i) values[i] += values[i + half];
  }
  return values[0];
}

// eˣ to about one unit in the last place: x = n·ln 2 + r, the polynomial for eʳ of Moshier's
// Cephes library (expf.c), and n into the exponent. 0 where eˣ is below the smallest normal number.
inline __attribute__((always_inline)) Wide exponential(Wide x) {
  const Wide lowest = spread_wide(-87.3365F);
  const Wide highest = spread_wide(88.3762F);
  const Wide clamped = x < lowest ? lowest : x > highest ? highest : x;
  const Wide shift = spread_wide(12582912.0F);  // 1.5 · 2²³: adding it rounds to an integer.
  const Wide shifted = clamped * 1.44269504088896341F + shift;
  const Wide n = shifted - shift;
  const Wide r = clamped - n * 0.693359375F - n * -2.12194440e-4F;
  Wide p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  const Wide square = r * r;
  const Wide y = p * square + r + 1.0F;
  const WideInt power = __builtin_bit_cast(WideInt, shifted) << 23;
  const WideInt bits = __builtin_bit_cast(WideInt, y) + power;
  return x < lowest ? Wide{} : __builtin_bit_cast(Wide, bits);
}

// tanh(x) to about one unit in the last place, by Moshier's Cephes library (tanhf.c): a polynomial
// near 0, where the other way would cancel.
inline __attribute__((always_inline)) Wide hyperbolic_tangent(Wide x) {
  const Wide square = x * x;
  Wide p = square * -5.70498872745e-3F + 2.06390887954e-2F;
  p = p * square - 5.37397155531e-2F;
  p = p * square + 1.33314422036e-1F;
  p = p * square - 3.33332819422e-1F;
  const Wide near = p * square * x + x;
  const Wide far = 1.0F - 2.0F / (exponential(x + x) + 1.0F);
  return square < spread_wide(0.390625F) ? near : far;  // 0.625²
}

// Calls work(first, count) for pieces of sixteen, and for what is left.
template <class Work>
inline __attribute__((always_inline)) void for_pieces(std::int64_t count, const Work& work) {
  std::int64_t first = 0;
  for (; first + width <= count; first += width) work(first, width);
  if (first < count) work(first, count - first);
}

float softmax(float* row, std::int64_t count, float factor) {
  const float lowest = -__builtin_inff();
  Wide most = spread_wide(lowest);
  for_pieces(count, [&](std::int64_t i, std::int64_t n) {
    const Wide part = load_part(row + i, n, lowest);
    most = part > most ? part : most;
  });
  float largest = most[0];
  for (std::int64_t i = 1; i < width; ++i) largest = most[i] > largest ? most[i] : largest;
  Wide sums = Wide{};
  for_pieces(count, [&](std::int64_t i, std::int64_t n) {
    const Wide part = exponential(load_part(row + i, n, lowest) - largest);
    store_part(row + i, part, n);
    sums += part;
  });
  const float sum = add_up(sums);
  const float scale = factor / sum;
  for_pieces(count, [&](std::int64_t i, std::int64_t n) {
    store_part(row + i, load_part(row + i, n) * scale, n);
  });
  return __builtin_logf(sum) + largest;
}

void softmax_again(float* row, std::int64_t count, float logsumexp) {
  for_pieces(count, [&](std::int64_t i, std::int64_t n) {
    store_part(row + i, exponential(load_part(row + i, n) - logsumexp), n);
  });
}

void soft_cap(float* row, float* slopes, std::int64_t count, float cap) {
  const float part = 1.0F / cap;
  for_pieces(count, [&](std::int64_t i, std::int64_t n) {
    const Wide bent = hyperbolic_tangent(load_part(row + i, n) * part);
    store_part(row + i, bent * cap, n);
    if (slopes != nullptr) store_part(slopes + i, 1.0F - bent * bent, n);
  });
}

void weigh(float* row, const float* factors, std::int64_t count) {
  for_pieces(count, [&](std::int64_t i, std::int64_t n) {
    store_part(row + i, load_part(row + i, n) * load_part(factors + i, n), n);
  });
}

void subtract_and_weigh(float* row, const float* weights, std::int64_t count, float subtracted) {
  for_pieces(count, [&](std::int64_t i, std::int64_t n) {
    store_part(row + i, (load_part(row + i, n) - subtracted) * load_part(weights + i, n), n);
  });
}

float dot(const float* left, const float* right, std::int64_t count) {
  Wide sums = Wide{};
  for_pieces(count, [&](std::int64_t i, std::int64_t n) {
    sums += load_part(left + i, n) * load_part(right + i, n);
  });
  return add_up(sums);
}

float rms_norm(const float* x, const float* weight, float* out, std::int64_t size, float eps) {
  const float mean = dot(x, x, size) / static_cast<float>(size);
  const float rstd = 1.0F / __builtin_sqrtf(mean + eps);
  for_pieces(size, [&](std::int64_t i, std::int64_t n) {
    store_part(out + i, load_part(x + i, n) * rstd * load_part(weight + i, n), n);
  });
  return rstd;
}

void rms_norm_backward(float* grad, const float* x, const float* weight, std::int64_t size,
                       float rstd) {
  Wide sums = Wide{};
  for_pieces(size, [&](std::int64_t i, std::int64_t n) {
    sums += load_part(grad + i, n) * load_part(weight + i, n) * load_part(x + i, n);
  });
  const float pull = add_up(sums) * rstd * rstd * rstd / static_cast<float>(size);
  for_pieces(size, [&](std::int64_t i, std::int64_t n) {
    const Wide straight = load_part(grad + i, n) * load_part(weight + i, n) * rstd;
    store_part(grad + i, straight - load_part(x + i, n) * pull, n);
  });
}

void add_norm_weight(float* sum, const float* grad, const float* x, std::int64_t count,
                     float rstd) {
  for_pieces(count, [&](std::int64_t i, std::int64_t n) {
    const Wide normed = load_part(x + i, n) * rstd;
    store_part(sum + i, load_part(sum + i, n) + load_part(grad + i, n) * normed, n);
  });
}

RowStats layer_norm(const float* x, const NormWeights& weights, float* out, std::int64_t size,
                    float eps) {
  Wide sums = Wide{};
  for_pieces(size, [&](std::int64_t i, std::int64_t n) { sums += load_part(x + i, n); });
  const float mean = add_up(sums) / static_cast<float>(size);
  Wide squares = Wide{};
  for_pieces(size, [&](std::int64_t i, std::int64_t n) {
    const Wide off = load_part(x + i, n, mean) - mean;
    squares += off * off;
  });
  const float variance = add_up(squares) / static_cast<float>(size);
  const float rstd = 1.0F / __builtin_sqrtf(variance + eps);
  for_pieces(size, [&](std::int64_t i, std::int64_t n) {
    const Wide normed = (load_part(x + i, n) - mean) * rstd;
    store_part(out + i, normed * load_part(weights.weight + i, n) + load_part(weights.bias + i, n),
               n);
  });
  return {mean, rstd};
}

void layer_norm_backward(float* grad, const float* x, const float* weight, std::int64_t size,
                         const RowStats& row) {
  Wide sums = Wide{};
  Wide products = Wide{};
  for_pieces(size, [&](std::int64_t i, std::int64_t n) {
    const Wide weighed = load_part(grad + i, n) * load_part(weight + i, n);
    sums += weighed;
    products += weighed * (load_part(x + i, n) - row.mean);
  });
  const float level = add_up(sums) * row.rstd / static_cast<float>(size);
  const float pull = add_up(products) * row.rstd * row.rstd * row.rstd / static_cast<float>(size);
  for_pieces(size, [&](std::int64_t i, std::int64_t n) {
    const Wide straight = load_part(grad + i, n) * load_part(weight + i, n) * row.rstd - level;
    store_part(grad + i, straight - (load_part(x + i, n) - row.mean) * pull, n);
  });
}

void add_layer_norm_weights(const NormSums& sums, const float* grad, const float* x,
                            std::int64_t count, const RowStats& row) {
  for_pieces(count, [&](std::int64_t i, std::int64_t n) {
    const Wide g = load_part(grad + i, n);
    const Wide normed = (load_part(x + i, n) - row.mean) * row.rstd;
    store_part(sums.weight + i, load_part(sums.weight + i, n) + g * normed, n);
    store_part(sums.bias + i, load_part(sums.bias + i, n) + g, n);
  });
}

void rotate(float* first, float* second, const RotationRow& row) {
  for_pieces(row.half, [&](std::int64_t i, std::int64_t n) {
    const Wide a = load_part(first + i, n);
    const Wide b = load_part(second + i, n);
    const Wide cos = load_part(row.cos + i, n);
    const Wide sin = load_part(row.sin + i, n) * row.direction;
    store_part(first + i, a * cos - b * sin, n);
    store_part(second + i, b * cos + a * sin, n);
  });
}

void swiglu(float* out, const float* gate, const float* up, std::int64_t count) {
  for_pieces(count, [&](std::int64_t i, std::int64_t n) {
    const Wide g = load_part(gate + i, n);
    store_part(out + i, g / (exponential(-g) + 1.0F) * load_part(up + i, n), n);
  });
}

void swiglu_backward(float* grad, float* up_grad, const float* gate, const float* up,
                     std::int64_t count) {
  for_pieces(count, [&](std::int64_t i, std::int64_t n) {
    const Wide g = load_part(gate + i, n);
    const Wide d = load_part(grad + i, n);
    const Wide sigmoid = 1.0F / (exponential(-g) + 1.0F);
    const Wide silu = g * sigmoid;
    store_part(up_grad + i, d * silu, n);
    // d silu = σ + g·σ·(1 − σ)
    const Wide slope = silu * (1.0F - sigmoid) + sigmoid;
    store_part(grad + i, d * load_part(up + i, n) * slope, n);
  });
}

// (1 + tanh(u))/2 = 1/(1 + exp(−2u)), here with 2u = x · (a + b·x²).
constexpr float gelu_linear = 1.5957691216057308F;             // 2·√(2/π)
constexpr float gelu_cubic = 1.5957691216057308F * 0.044715F;  // The same, times 0.044715.

void gelu(float* out, const float* x, std::int64_t count) {
  for_pieces(count, [&](std::int64_t i, std::int64_t n) {
    const Wide v = load_part(x + i, n);
    const Wide twice = v * (v * v * gelu_cubic + gelu_linear);
    store_part(out + i, v / (exponential(-twice) + 1.0F), n);
  });
}

// 1/(1 + exp(−2u)), and what it gives: gelu(x) = x · σ.
struct Bend {
  Wide sigmoid;
  Wide slope;  // Of gelu: σ + x·σ·(1 − σ) · d(2u)/dx
};
inline __attribute__((always_inline)) Bend bend_of(Wide v) {
  const Wide square = v * v;
  const Wide sigmoid = 1.0F / (exponential(-(v * (square * gelu_cubic + gelu_linear))) + 1.0F);
  const Wide inner = v * (square * (3.0F * gelu_cubic) + gelu_linear);
  return {sigmoid, sigmoid * (1.0F - sigmoid) * inner + sigmoid};
}

void gelu_backward(float* grad, const float* x, std::int64_t count) {
  for_pieces(count, [&](std::int64_t i, std::int64_t n) {
    store_part(grad + i, load_part(grad + i, n) * bend_of(load_part(x + i, n)).slope, n);
  });
}

void geglu(float* out, const float* gate, const float* up, std::int64_t count) {
  for_pieces(count, [&](std::int64_t i, std::int64_t n) {
    const Wide g = load_part(gate + i, n);
    const Wide twice = g * (g * g * gelu_cubic + gelu_linear);
    store_part(out + i, g / (exponential(-twice) + 1.0F) * load_part(up + i, n), n);
  });
}

void geglu_backward(float* grad, float* up_grad, const float* gate, const float* up,
                    std::int64_t count) {
  for_pieces(count, [&](std::int64_t i, std::int64_t n) {
    const Wide g = load_part(gate + i, n);
    const Wide d = load_part(grad + i, n);
    const Bend bend = bend_of(g);
    store_part(up_grad + i, d * (g * bend.sigmoid), n);
    store_part(grad + i, d * load_part(up + i, n) * bend.slope, n);
  });
}

void adamw(const AdamWRow& row, const AdamWRates& rates) {
  for_pieces(row.count, [&](std::int64_t i, std::int64_t n) {
    const Wide grad = load_part(row.grad + i, n) * rates.gradient;
    Wide mean = load_part(row.mean + i, n);
    mean += (grad - mean) * rates.mean_part;
    store_part(row.mean + i, mean, n);
    const Wide square = grad * grad;
    Wide variance = load_part(row.variance + i, n);
    variance += (square - variance) * rates.variance_part;
    store_part(row.variance + i, variance, n);
    Wide root;
    for (std::int64_t j = 0; j < width; ++j) root[j] = __builtin_sqrtf(variance[j]);
    const Wide step = mean / (root / rates.root + rates.epsilon);
    store_part(row.value + i, load_part(row.value + i, n) * rates.keep - step * rates.rate, n);
  });
}

void sgd(const SgdRow& row, const SgdRates& rates) {
  for_pieces(row.count, [&](std::int64_t i, std::int64_t n) {
    const Wide value = load_part(row.value + i, n);
    Wide step = load_part(row.grad + i, n) * rates.gradient + value * rates.decay;
    if (row.momentum != nullptr) {
      const Wide sum = load_part(row.momentum + i, n) * rates.momentum + step;
      store_part(row.momentum + i, sum, n);
      step = rates.nesterov ? step + sum * rates.momentum : sum;
    }
    store_part(row.value + i, value - step * rates.rate, n);
  });
}

void move_weighed(const WeighedRow& row, float keep, float rate) {
  for_pieces(row.count, [&](std::int64_t i, std::int64_t n) {
    const Wide step = load_part(row.grad + i, n) * load_part(row.weights + i, n);
    store_part(row.value + i, load_part(row.value + i, n) * keep - step * rate, n);
  });
}

// The square of a float is exact in fp64: it does not matter whether a multiply-add is fused.
void add_squares(double* sums, const float* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto one = static_cast<double>(values[i]);
    sums[i] += one * one;
  }
}

double sum_of_weighed_squares(const float* values, const float* weights, std::int64_t count) {
  double sums[width] = {};
  for_pieces(count, [&](std::int64_t i, std::int64_t n) {
    const Wide part = load_part(values + i, n) * load_part(weights + i, n);
    for (std::int64_t j = 0; j < width; ++j) {
      const auto one = static_cast<double>(part[j]);
      sums[j] += one * one;
    }
  });
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

double sum_of_squares(const float* values, std::int64_t count) {
  double sums[width] = {};
  for_pieces(count, [&](std::int64_t i, std::int64_t n) {
    const Wide part = load_part(values + i, n);
    for (std::int64_t j = 0; j < width; ++j) {
      const auto one = static_cast<double>(part[j]);
      sums[j] += one * one;
    }
  });
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

}  // namespace
// NOLINTEND(misc-definitions-in-headers)
}  // namespace headroom::trainer::kernels
