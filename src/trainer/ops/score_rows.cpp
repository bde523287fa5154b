// SPDX-License-Identifier: Apache-2.0
#include "trainer/ops/score_rows.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "trainer/kernels/kernels.h"
#include "trainer/ops/by_libtorch.h"
#include "trainer/ops/score_blocks.h"
#include "trainer/ops/shared_rows.h"

namespace headroom::trainer::ops {
namespace {

// Of one row: the keys [first, end) that its query sees, and the row from the first of them.
template <class Number>
struct Seen {
  std::int64_t row;
  std::int64_t first;
  Number* scores;
  std::int64_t count;
};

// Calls work(seen) for every row, and clears what its query does not see.
template <class Number, class Work>
void for_rows(const at::Tensor& scores, const Sight& sight, const Work& work) {
  const std::int64_t keys = scores.size(1);
  auto* data = scores.data_ptr<Number>();
  const std::int64_t stride = scores.stride(0);
  share_rows(scores.size(0), keys, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      Number* row = data + i * stride;
      const std::int64_t own = sight.first_query + i - sight.first_key;
      const std::int64_t first = std::max<std::int64_t>(0, own - sight.window + 1);
      const std::int64_t last = std::min(keys, own + 1);
      std::fill(row, row + first, Number{0});
      std::fill(row + last, row + keys, Number{0});
      work(Seen<Number>{i, first, row + first, last - first});
    }
  });
}

float softmax(float* row, std::int64_t count) {
  return kernels::kernels().softmax(row, count, 1);
}

void softmax_again(float* row, std::int64_t count, float logsumexp) {
  kernels::kernels().softmax_again(row, count, logsumexp);
}

void subtract_and_weigh(float* row, const float* weights, std::int64_t count, float subtracted) {
  kernels::kernels().subtract_and_weigh(row, weights, count, subtracted);
}

float dot(const float* left, const float* right, std::int64_t count) {
  return kernels::kernels().dot(left, right, count);
}

void soft_cap(float* row, float* slopes, std::int64_t count, float cap) {
  kernels::kernels().soft_cap(row, slopes, count, cap);
}

void weigh(float* row, const float* factors, std::int64_t count) {
  kernels::kernels().weigh(row, factors, count);
}

// In fp64, which is for comparing with, plainly.
void soft_cap(double* row, double* slopes, std::int64_t count, double cap) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double bent = std::tanh(row[i] / cap);
    row[i] = bent * cap;
    if (slopes != nullptr) slopes[i] = 1 - bent * bent;
  }
}

void weigh(double* row, const double* factors, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) row[i] *= factors[i];
}

void softmax_again(double* row, std::int64_t count, double logsumexp) {
  for (std::int64_t i = 0; i < count; ++i) row[i] = std::exp(row[i] - logsumexp);
}

double softmax(double* row, std::int64_t count) {
  const double largest = *std::max_element(row, row + count);
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += std::exp(row[i] - largest);
  const double logsumexp = std::log(sum) + largest;
  softmax_again(row, count, logsumexp);
  return logsumexp;
}

void subtract_and_weigh(double* row, const double* weights, std::int64_t count, double subtracted) {
  for (std::int64_t i = 0; i < count; ++i) row[i] = (row[i] - subtracted) * weights[i];
}

double dot(const double* left, const double* right, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += left[i] * right[i];
  return sum;
}

// Calls work(a number of the dtype of `tensor`).
template <class Work>
void with_number(const at::Tensor& tensor, const Work& work) {
  if (tensor.scalar_type() == at::kDouble) {
    work(double{});
  } else {
    work(float{});
  }
}

}  // namespace

void soft_cap_rows(const at::Tensor& scores, const Sight& sight, double cap,
                   const at::Tensor& slopes) {
  if (is_by_libtorch(scores)) return score_blocks::soft_cap(scores, sight, cap, slopes);
  with_number(scores, [&]<class Number>(Number /*dtype*/) {
    auto* first = slopes.defined() ? slopes.data_ptr<Number>() : nullptr;
    const std::int64_t stride = slopes.defined() ? slopes.stride(0) : 0;
    for_rows<Number>(scores, sight, [&](const Seen<Number>& seen) {
      soft_cap(seen.scores, first == nullptr ? nullptr : first + seen.row * stride + seen.first,
               seen.count, static_cast<Number>(cap));
    });
  });
}

void weigh_rows(const at::Tensor& weights, const Sight& sight, const at::Tensor& slopes) {
  if (is_by_libtorch(weights)) return score_blocks::weigh(weights, sight, slopes);
  with_number(weights, [&]<class Number>(Number /*dtype*/) {
    const auto* first = slopes.data_ptr<Number>();
    for_rows<Number>(weights, sight, [&](const Seen<Number>& seen) {
      weigh(seen.scores, first + seen.row * slopes.stride(0) + seen.first, seen.count);
    });
  });
}

void softmax_rows(const at::Tensor& scores, const Sight& sight, const at::Tensor& logsumexp) {
  if (is_by_libtorch(scores)) return score_blocks::softmax(scores, sight, logsumexp);
  with_number(scores, [&]<class Number>(Number /*dtype*/) {
    auto* sums = logsumexp.defined() ? logsumexp.data_ptr<Number>() : nullptr;
    for_rows<Number>(scores, sight, [&](const Seen<Number>& seen) {
      const Number sum = softmax(seen.scores, seen.count);
      if (sums != nullptr) sums[seen.row] = sum;
    });
  });
}

void softmax_rows_again(const at::Tensor& scores, const Sight& sight, const at::Tensor& logsumexp) {
  if (is_by_libtorch(scores)) return score_blocks::softmax_again(scores, sight, logsumexp);
  with_number(scores, [&]<class Number>(Number /*dtype*/) {
    const auto* sums = logsumexp.data_ptr<Number>();
    for_rows<Number>(scores, sight, [&](const Seen<Number>& seen) {
      softmax_again(seen.scores, seen.count, sums[seen.row]);
    });
  });
}

void softmax_rows_backward(const at::Tensor& grad, const Sight& sight, const at::Tensor& weights,
                           const at::Tensor& dout, const at::Tensor& out) {
  if (is_by_libtorch(grad)) return score_blocks::softmax_backward(grad, sight, weights, dout, out);
  with_number(grad, [&]<class Number>(Number /*dtype*/) {
    const auto row_of = [](const at::Tensor& matrix, std::int64_t row) {
      return matrix.data_ptr<Number>() + row * matrix.stride(0);
    };
    for_rows<Number>(grad, sight, [&](const Seen<Number>& seen) {
      const Number mean = dot(row_of(dout, seen.row), row_of(out, seen.row), out.size(1));
      subtract_and_weigh(seen.scores, row_of(weights, seen.row) + seen.first, seen.count, mean);
    });
  });
}

}  // namespace headroom::trainer::ops
