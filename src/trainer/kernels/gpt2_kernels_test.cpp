// SPDX-License-Identifier: Apache-2.0
// The passes of GPT-2, as kernels_test.cpp has those of the others.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "trainer/kernels/kernels.h"
#include "trainer/kernels/testing/every_kernel.h"

namespace headroom::trainer::kernels {
namespace {

using testing::counts;
using testing::expect_all;
using testing::random_values;
using testing::Values;

// x/2 · (1 + tanh(u)), and its slope.
double gelu_of(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
double slope_of_gelu(double x) {
  const double t = std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
}

TEST(Kernels, gelu) {
  for (const std::int64_t count : counts) {
    Values x = random_values(count, 21, 4);
    x[0] = 90;  // What the exponential cannot hold.
    if (count > 1) x[1] = -90;
    const Values grad = random_values(count, 22);
    std::vector<double> forward, back;
    for (std::size_t i = 0; i < x.size(); ++i) {
      forward.push_back(gelu_of(x[i]));
      back.push_back(double{grad[i]} * slope_of_gelu(x[i]));
    }
    expect_all(
        [&](const Kernels& kernels) {
          Values out(x.size());
          kernels.gelu(out.data(), x.data(), count);
          return out;
        },
        forward, 1e-5, "gelu");
    expect_all(
        [&](const Kernels& kernels) {
          Values out = grad;
          kernels.gelu_backward(out.data(), x.data(), count);
          return out;
        },
        back, 1e-5, "gelu, backward");
  }
}

TEST(Kernels, layer_norm) {
  for (const std::int64_t count : counts) {
    Values x = random_values(count, 23);
    for (float& one : x) one += 5;
    const Values weight = random_values(count, 24);
    const Values bias = random_values(count, 25);
    const Values grad = random_values(count, 26);
    const auto size = static_cast<double>(count);
    double mean = 0, variance = 0, level = 0, pull = 0;
    for (const float one : x) mean += double{one} / size;
    for (const float one : x) variance += (double{one} - mean) * (double{one} - mean) / size;
    const double rstd = 1 / std::sqrt(variance + 1e-2);
    std::vector<double> forward = {mean, rstd}, back;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double normed = (double{x[i]} - mean) * rstd;
      forward.push_back(normed * double{weight[i]} + double{bias[i]});
      level += double{grad[i]} * double{weight[i]} / size;
      pull += double{grad[i]} * double{weight[i]} * normed / size;
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double normed = (double{x[i]} - mean) * rstd;
      back.push_back(rstd * (double{grad[i]} * double{weight[i]} - level - normed * pull));
    }
    for (std::size_t i = 0; i < x.size(); ++i)
      back.push_back(1 + double{grad[i]} * (double{x[i]} - mean) * rstd);
    for (std::size_t i = 0; i < x.size(); ++i) back.push_back(1 + double{grad[i]});
    const RowStats stats{static_cast<float>(mean), static_cast<float>(rstd)};
    expect_all(
        [&](const Kernels& kernels) {
          Values out(x.size());
          const RowStats found =
              kernels.layer_norm(x.data(), {weight.data(), bias.data()}, out.data(), count, 1e-2F);
          out.insert(out.begin(), {found.mean, found.rstd});
          return out;
        },
        forward, 1e-5, "LayerNorm");
    expect_all(
        [&](const Kernels& kernels) {
          Values out = grad, weights(x.size(), 1), biases(x.size(), 1);
          kernels.layer_norm_backward(out.data(), x.data(), weight.data(), count, stats);
          kernels.add_layer_norm_weights({weights.data(), biases.data()}, grad.data(), x.data(),
                                         count, stats);
          out.insert(out.end(), weights.begin(), weights.end());
          out.insert(out.end(), biases.begin(), biases.end());
          return out;
        },
        back, 1e-4, "LayerNorm, backward");
  }
}

}  // namespace
}  // namespace headroom::trainer::kernels
