// SPDX-License-Identifier: Apache-2.0
// The passes of Gemma, as kernels_test.cpp has those of the others.
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

// Of √(2/π) · (x + 0.044715 x³).
double tanh_in_gelu(double x) {
  return std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
}

TEST(Kernels, soft_cap) {
  for (const float cap : {0.5F, 30.0F}) {
    for (const std::int64_t count : counts) {
      // Both sides of where the hyperbolic tangent is computed in another way.
      Values x = random_values(count, 27, cap);
      x[0] = 1e30F;
      if (count > 1) x[1] = -1e30F;
      if (count > 2) x[2] = cap * 1e-4F;
      std::vector<double> capped, slopes;
      for (const float one : x) {
        const double bent = std::tanh(double{one} / double{cap});
        capped.push_back(bent * double{cap});
        slopes.push_back(1 - bent * bent);
      }
      std::vector<double> both = capped;
      both.insert(both.end(), slopes.begin(), slopes.end());
      expect_all(
          [&](const Kernels& kernels) {
            Values row = x, found(x.size());
            kernels.soft_cap(row.data(), found.data(), count, cap);
            row.insert(row.end(), found.begin(), found.end());
            return row;
          },
          both, 5e-7, "soft cap and its slope");
      expect_all(
          [&](const Kernels& kernels) {
            Values row = x;
            kernels.soft_cap(row.data(), nullptr, count, cap);
            return row;
          },
          capped, 5e-7, "soft cap");
      expect_all(
          [&](const Kernels& kernels) {
            Values row = x;
            kernels.soft_cap(row.data(), row.data(), count, cap);
            return row;
          },
          slopes, 5e-7, "slopes in the place of the scores");
    }
  }
}

// As far from 0 as it is near: an error of the size of 1e-7 beside a score of 1e-6 would show.
TEST(Kernels, soft_cap_is_exact_beside_nothing) {
  Values x;
  for (int power = -40; power < 0; ++power) x.push_back(std::ldexp(1.1F, power));
  for (std::size_t i = 0; i < available_kernels().count; ++i) {
    Values row = x;
    available_kernels().list[i]->soft_cap(row.data(), nullptr, static_cast<std::int64_t>(x.size()),
                                          2);
    for (std::size_t j = 0; j < x.size(); ++j)
      EXPECT_NEAR(double{row[j]} / (2 * std::tanh(double{x[j]} / 2)), 1, 3e-7) << x[j];
  }
}

TEST(Kernels, weigh) {
  for (const std::int64_t count : counts) {
    const Values row = random_values(count, 28);
    const Values factors = random_values(count, 29);
    std::vector<double> expected;
    for (std::size_t i = 0; i < row.size(); ++i)
      expected.push_back(double{row[i]} * double{factors[i]});
    expect_all(
        [&](const Kernels& kernels) {
          Values out = row;
          kernels.weigh(out.data(), factors.data(), count);
          return out;
        },
        expected, 1e-6, "weigh");
  }
}

TEST(Kernels, geglu) {
  for (const std::int64_t count : counts) {
    Values gate = random_values(count, 30, 4);
    gate[0] = 90;  // What the exponential cannot hold.
    if (count > 1) gate[1] = -90;
    const Values up = random_values(count, 31);
    const Values grad = random_values(count, 32);
    std::vector<double> forward, back, up_back;
    for (std::size_t i = 0; i < gate.size(); ++i) {
      const double g = gate[i], t = tanh_in_gelu(g);
      const double gelu = 0.5 * g * (1 + t);
      const double slope =
          0.5 * (1 + t) + 0.5 * g * (1 - t * t) * std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * g * g);
      forward.push_back(gelu * double{up[i]});
      back.push_back(double{grad[i]} * double{up[i]} * slope);
      up_back.push_back(double{grad[i]} * gelu);
    }
    back.insert(back.end(), up_back.begin(), up_back.end());
    expect_all(
        [&](const Kernels& kernels) {
          Values out(gate.size());
          kernels.geglu(out.data(), gate.data(), up.data(), count);
          return out;
        },
        forward, 1e-5, "geglu");
    expect_all(
        [&](const Kernels& kernels) {
          Values out = grad, up_grad(grad.size());
          kernels.geglu_backward(out.data(), up_grad.data(), gate.data(), up.data(), count);
          out.insert(out.end(), up_grad.begin(), up_grad.end());
          return out;
        },
        back, 1e-5, "geglu, backward");
  }
}

}  // namespace
}  // namespace headroom::trainer::kernels
