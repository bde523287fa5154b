// SPDX-License-Identifier: Apache-2.0
// Every kind of kernels that this processor can run, beside plain sums in fp64, and beside each
// other (testing/every_kernel.h).
#include "trainer/kernels/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "trainer/kernels/testing/every_kernel.h"

namespace headroom::trainer::kernels {
namespace {

using testing::counts;
using testing::expect_all;
using testing::random_values;
using testing::Values;

struct ProductCase {
  std::int64_t rows, inner, columns;
  bool left_turned, right_turned;
  float beta, alpha;
};

MatrixView view(const Values& values, std::int64_t rows, std::int64_t columns, bool turned) {
  return turned ? MatrixView{values.data(), 1, rows} : MatrixView{values.data(), columns, 1};
}

float at(const MatrixView& matrix, std::int64_t row, std::int64_t column) {
  return static_cast<const float*>(
      matrix.data)[row * matrix.row_stride + column * matrix.column_stride];
}

void expect_product(const ProductCase& c) {
  const Values left = random_values(c.rows * c.inner, 1);
  const Values right = random_values(c.inner * c.columns, 2);
  const Values before = random_values(c.rows * c.columns, 3);
  const MatrixView a = view(left, c.rows, c.inner, c.left_turned);
  const MatrixView b = view(right, c.inner, c.columns, c.right_turned);
  std::vector<double> expected;
  for (std::int64_t i = 0; i < c.rows; ++i) {
    for (std::int64_t j = 0; j < c.columns; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < c.inner; ++k) sum += double{at(a, i, k)} * double{at(b, k, j)};
      expected.push_back(double{c.beta} *
                             double{before[static_cast<std::size_t>(i * c.columns + j)]} +
                         double{c.alpha} * sum);
    }
  }
  const PackedShape shape{c.inner, c.columns};
  const auto compute = [&](const Kernels& kernels) {
    Values packed(static_cast<std::size_t>(shape.panels() * shape.panel_elements()), NAN);
    Values out = before;
    kernels.pack(b, shape, 0, shape.panels(), packed.data());
    kernels.multiply({out.data(), c.columns}, a, {packed.data(), shape}, {0, c.rows},
                     {c.beta, c.alpha});
    return out;
  };
  expect_all(
      compute, expected, 1e-4,
      std::to_string(c.rows) + " × " + std::to_string(c.inner) + " × " + std::to_string(c.columns));
}

TEST(Kernels, a_product_of_any_size_and_strides) {
  for (const std::int64_t rows : {1, 13, 14, 31}) {
    for (const std::int64_t inner : {1, 5, 16, 37, 256}) {
      for (const std::int64_t columns : {1, 31, 32, 70}) {
        for (const int turned : {0, 1, 2, 3}) {
          expect_product({rows, inner, columns, (turned & 1) != 0, (turned & 2) != 0,
                          turned == 1 ? 1.0F : 0.0F, turned == 2 ? 0.5F : 1.0F});
        }
      }
    }
  }
}

TEST(Kernels, what_was_in_the_result_does_not_matter_without_beta) {
  const Values ones(16, 1);
  for (std::size_t i = 0; i < available_kernels().count; ++i) {
    const Kernels& kernels = *available_kernels().list[i];
    const PackedShape shape{4, 4};
    Values packed(static_cast<std::size_t>(shape.panel_elements()));
    Values out(16, NAN);
    kernels.pack({ones.data(), 4, 1}, shape, 0, 1, packed.data());
    kernels.multiply({out.data(), 4}, {ones.data(), 4, 1}, {packed.data(), shape}, {0, 4}, {});
    EXPECT_EQ(out, Values(16, 4)) << kernels.name;
  }
}

TEST(Kernels, softmax_and_its_logarithm) {
  for (const std::int64_t count : counts) {
    Values scores = random_values(count, 4, 20);
    scores[0] = -200;  // Weighs nothing beside the others, and is no trouble.
    double sum = 0;
    for (const float score : scores) sum += std::exp(double{score});
    std::vector<double> expected;
    for (const float score : scores) expected.push_back(0.5 * std::exp(double{score}) / sum);
    expected.push_back(std::log(sum));
    std::vector<double> again;
    for (const float score : scores) again.push_back(std::exp(double{score}) / sum);
    const auto compute = [&](const Kernels& kernels) {
      Values row = scores;
      const float logsumexp = kernels.softmax(row.data(), count, 0.5F);
      row.push_back(logsumexp);
      return row;
    };
    expect_all(compute, expected, 1e-5, "softmax");
    const auto compute_again = [&](const Kernels& kernels) {
      Values row = scores;
      kernels.softmax_again(row.data(), count, static_cast<float>(std::log(sum)));
      return row;
    };
    expect_all(compute_again, again, 1e-5, "softmax again");
  }
}

TEST(Kernels, norms_and_what_they_pass_back) {
  for (const std::int64_t count : counts) {
    const Values x = random_values(count, 5);
    const Values weight = random_values(count, 6);
    const Values grad = random_values(count, 7);
    double squares = 0, pulled = 0;
    for (const float one : x) squares += double{one} * double{one};
    const double rstd = 1 / std::sqrt(squares / static_cast<double>(count) + 1e-3);
    std::vector<double> normed, back, added;
    for (std::size_t i = 0; i < x.size(); ++i) {
      normed.push_back(double{x[i]} * rstd * double{weight[i]});
      pulled += double{grad[i]} * normed.back();
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      back.push_back(rstd * (double{grad[i]} * double{weight[i]} -
                             double{x[i]} * rstd * pulled / static_cast<double>(count)));
      added.push_back(1 + double{grad[i]} * double{x[i]} * rstd);
    }
    expect_all(
        [&](const Kernels& kernels) {
          Values out(x.size());
          kernels.rms_norm(x.data(), weight.data(), out.data(), count, 1e-3F);
          return out;
        },
        normed, 1e-5, "norm");
    expect_all(
        [&](const Kernels& kernels) {
          Values out = grad;
          kernels.rms_norm_backward(out.data(), x.data(), weight.data(), count,
                                    static_cast<float>(rstd));
          return out;
        },
        back, 1e-5, "norm, backward");
    expect_all(
        [&](const Kernels& kernels) {
          Values sum(x.size(), 1);
          kernels.add_norm_weight(sum.data(), grad.data(), x.data(), count,
                                  static_cast<float>(rstd));
          return sum;
        },
        added, 1e-5, "norm, weight");
  }
}

TEST(Kernels, swiglu_and_rotation) {
  for (const std::int64_t count : counts) {
    const Values gate = random_values(count, 8, 4);
    const Values up = random_values(count, 9);
    const Values grad = random_values(count, 10);
    std::vector<double> forward, back, turned;
    for (std::size_t i = 0; i < gate.size(); ++i) {
      const double g = gate[i], u = up[i], d = grad[i];
      const double sigmoid = 1 / (1 + std::exp(-g));
      forward.push_back(g * sigmoid * u);
      back.push_back(d * u * (sigmoid + g * sigmoid * (1 - sigmoid)));
      turned.push_back(g * u + d * d);
    }
    for (std::size_t i = 0; i < gate.size(); ++i)
      back.push_back(double{grad[i]} * double{gate[i]} / (1 + std::exp(-double{gate[i]})));
    for (std::size_t i = 0; i < gate.size(); ++i)
      turned.push_back(double{grad[i]} * double{up[i]} - double{gate[i]} * double{grad[i]});
    expect_all(
        [&](const Kernels& kernels) {
          Values out(gate.size());
          kernels.swiglu(out.data(), gate.data(), up.data(), count);
          return out;
        },
        forward, 1e-5, "swiglu");
    expect_all(
        [&](const Kernels& kernels) {
          Values out = grad;
          Values up_grad(grad.size());
          kernels.swiglu_backward(out.data(), up_grad.data(), gate.data(), up.data(), count);
          out.insert(out.end(), up_grad.begin(), up_grad.end());
          return out;
        },
        back, 1e-5, "swiglu, backward");
    expect_all(
        [&](const Kernels& kernels) {
          Values first = gate;
          Values second = grad;
          kernels.rotate(first.data(), second.data(), {up.data(), grad.data(), count, -1});
          first.insert(first.end(), second.begin(), second.end());
          return first;
        },
        turned, 1e-5, "rotation");
  }
}

TEST(Kernels, a_step_of_adamw) {
  const AdamWRates rates{.gradient = 0.5F,
                         .mean_part = 0.1F,
                         .variance_part = 0.001F,
                         .root = 0.25F,
                         .epsilon = 1e-4F,
                         .keep = 0.99F,
                         .rate = 0.125F};
  for (const std::int64_t count : counts) {
    const Values value = random_values(count, 11);
    const Values grad = random_values(count, 12);
    const Values mean = random_values(count, 13);
    Values variance = random_values(count, 14);
    for (float& one : variance) one *= one;
    std::vector<double> expected;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const double g = double{grad[i]} * 0.5;
      const double m = double{mean[i]} + (g - double{mean[i]}) * 0.1;
      const double v = double{variance[i]} + (g * g - double{variance[i]}) * 0.001;
      expected.push_back(double{value[i]} * 0.99 - 0.125 * m / (std::sqrt(v) / 0.25 + 1e-4));
    }
    const auto compute = [&](const Kernels& kernels) {
      Values values = value, means = mean, variances = variance;
      kernels.adamw({values.data(), grad.data(), means.data(), variances.data(), count}, rates);
      return values;
    };
    expect_all(compute, expected, 1e-4, "AdamW");
  }
}

TEST(Kernels, a_step_of_sgd) {
  for (const bool nesterov : {false, true}) {
    const SgdRates rates{
        .gradient = 0.5F, .decay = 0.25F, .momentum = 0.75F, .nesterov = nesterov, .rate = 0.125F};
    for (const std::int64_t count : counts) {
      const Values value = random_values(count, 15);
      const Values grad = random_values(count, 16);
      const Values momentum = random_values(count, 17);
      std::vector<double> expected, plain;
      for (std::size_t i = 0; i < value.size(); ++i) {
        const double step = double{grad[i]} * 0.5 + double{value[i]} * 0.25;
        const double sum = double{momentum[i]} * 0.75 + step;
        expected.push_back(double{value[i]} - 0.125 * (nesterov ? step + 0.75 * sum : sum));
        plain.push_back(double{value[i]} - 0.125 * step);
      }
      const auto compute = [&](const Kernels& kernels) {
        Values values = value, sums = momentum;
        kernels.sgd({values.data(), grad.data(), sums.data(), count}, rates);
        return values;
      };
      expect_all(compute, expected, 1e-5, "SGD");
      const auto without = [&](const Kernels& kernels) {
        Values values = value;
        kernels.sgd({values.data(), grad.data(), nullptr, count}, rates);
        return values;
      };
      expect_all(without, plain, 1e-5, "SGD without momentum");
    }
  }
}

TEST(Kernels, passes_of_adafactor) {
  for (const std::int64_t count : counts) {
    const Values value = random_values(count, 18);
    const Values grad = random_values(count, 19);
    const Values weights = random_values(count, 20);
    std::vector<double> expected;
    double weighed = 0;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const double step = double{grad[i]} * double{weights[i]};
      weighed += step * step;
      expected.push_back(double{value[i]} * 0.75 - step * 0.5);
      expected.push_back(2 + double{grad[i]} * double{grad[i]});
    }
    expected.push_back(weighed);
    const auto compute = [&](const Kernels& kernels) {
      Values values = value, found;
      std::vector<double> sums(value.size(), 2);
      kernels.move_weighed({values.data(), grad.data(), weights.data(), count}, 0.75F, 0.5F);
      kernels.add_squares(sums.data(), grad.data(), count);
      for (std::size_t i = 0; i < values.size(); ++i) {
        found.push_back(values[i]);
        found.push_back(static_cast<float>(sums[i]));
      }
      found.push_back(
          static_cast<float>(kernels.sum_of_weighed_squares(grad.data(), weights.data(), count)));
      return found;
    };
    expect_all(compute, expected, 1e-5, "Adafactor");
  }
}

}  // namespace
}  // namespace headroom::trainer::kernels
