// SPDX-License-Identifier: Apache-2.0
#include "trainer/adafactor.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "trainer/kernels/kernels.h"
#include "trainer/ops/fp32_block.h"
#include "trainer/ops/row_blocks.h"
#include "trainer/ops/shared_rows.h"

namespace headroom::trainer {
namespace {

// Of the squares, by rows and by columns. Of a vector, which has no rows, one for each number.
struct Moments {
  at::Tensor rows;  // Undefined for a vector.
  at::Tensor columns;
};

// One parameter in one step, as a matrix; a vector is one row. All sums are taken in fp64, each by
// one thread, so that the number of threads changes no bit.
class Update {
 public:
  Update(const at::Tensor& value, const at::Tensor& gradient, Moments moments,
         double gradient_factor)
      : columns_(value.size(-1)),
        rows_(value.numel() / columns_),
        block_rows_(std::min(rows_, ops::rows_per_block(columns_))),
        gradient_(gradient, block_rows_ * columns_),
        value_(value, block_rows_ * columns_),
        moments_(std::move(moments)),
        factor_(gradient_factor),
        sums_(at::zeros({rows_ + columns_}, value.options().dtype(at::kDouble))),
        weights_(at::empty({columns_}, value.options().dtype(at::kFloat))) {
    if (gradient_.most() == numbers()) block_rows_ = rows_;
  }

  // Mixes the means of this step's squares, plus epsilon, into the moments; `kept` of the old ones
  // stays. Then finds 1/√ of them.
  void take_moments(double kept, double epsilon) {
    for_gradient_rows([&](std::int64_t first, std::int64_t count, const float* grad) {
      if (moments_.rows.defined())
        sum_rows(first, count, [&](std::int64_t i) {
          return kernels::kernels().sum_of_squares(grad + i * columns_, columns_);
        });
      add_to_columns(grad, count);
    });
    const double squared = factor_ * factor_;
    const auto mix = [&](const at::Tensor& moments, const double* sums, std::int64_t summed) {
      auto* moment = moments.data_ptr<float>();
      for (std::int64_t i = 0; i < moments.numel(); ++i) {
        const double mean = squared * sums[i] / static_cast<double>(summed) + epsilon;
        moment[i] = static_cast<float>(double{moment[i]} * kept + mean * (1 - kept));
      }
    };
    if (moments_.rows.defined()) mix(moments_.rows, row_sums(), columns_);
    mix(moments_.columns, column_sums(), rows_);
    weigh();
  }

  // Of the update before it is limited. Requires: take_moments().
  double update_rms() {
    for_gradient_rows([&](std::int64_t first, std::int64_t count, const float* grad) {
      sum_rows(first, count, [&](std::int64_t i) {
        const double row = row_weight(first + i);
        return row * row *
               kernels::kernels().sum_of_weighed_squares(grad + i * columns_,
                                                         weights_.data_ptr<float>(), columns_);
      });
    });
    return std::abs(factor_) * root_mean_of_sums();
  }

  double value_rms() {
    ops::for_row_blocks(rows_, block_rows_, [&](std::int64_t first, std::int64_t count) {
      const float* value = value_.load(first * columns_, count * columns_);
      sum_rows(first, count, [&](std::int64_t i) {
        return kernels::kernels().sum_of_squares(value + i * columns_, columns_);
      });
    });
    return root_mean_of_sums();
  }

  // value = value · keep − update · rate. Requires: take_moments().
  void move(double keep, double rate) {
    for_gradient_rows([&](std::int64_t first, std::int64_t count, const float* grad) {
      float* value = value_.load(first * columns_, count * columns_);
      ops::share_rows(count, columns_, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const double row_rate = row_weight(first + i) * factor_ * rate;
          kernels::kernels().move_weighed(
              {value + i * columns_, grad + i * columns_, weights_.data_ptr<float>(), columns_},
              static_cast<float>(keep), static_cast<float>(row_rate));
        }
      });
      value_.store(first * columns_, count * columns_);
    });
  }

 private:
  std::int64_t numbers() const { return rows_ * columns_; }
  double* row_sums() { return sums_.data_ptr<double>(); }
  double* column_sums() { return row_sums() + rows_; }

  // Calls work(first row, number of rows, their gradients).
  template <class Work>
  void for_gradient_rows(const Work& work) {
    ops::for_row_blocks(rows_, block_rows_, [&](std::int64_t first, std::int64_t count) {
      work(first, count, gradient_.load(first * columns_, count * columns_));
    });
  }

  // row_sums()[first + i] = sum_of(i) for every row of a block.
  template <class SumOf>
  void sum_rows(std::int64_t first, std::int64_t count, const SumOf& sum_of) {
    double* sums = row_sums() + first;
    ops::share_rows(count, columns_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) sums[i] = sum_of(i);
    });
  }

  void add_to_columns(const float* grad, std::int64_t count) {
    constexpr std::int64_t piece = 1024;  // Columns; each is one thread's.
    double* sums = column_sums();
    ops::share_rows(
        (columns_ + piece - 1) / piece, piece * count, [&](std::int64_t begin, std::int64_t end) {
          const std::int64_t from = begin * piece;
          const std::int64_t size = std::min(columns_, end * piece) - from;
          for (std::int64_t i = 0; i < count; ++i)
            kernels::kernels().add_squares(sums + from, grad + i * columns_ + from, size);
        });
  }

  // An update is gradient · row_weight · weights: r_factor and c_factor of _approx_sq_grad.
  void weigh() {
    const auto* moment = moments_.columns.data_ptr<float>();
    auto* weight = weights_.data_ptr<float>();
    for (std::int64_t i = 0; i < columns_; ++i)
      weight[i] = static_cast<float>(1 / std::sqrt(double{moment[i]}));
    if (!moments_.rows.defined()) return;
    const auto* rows = moments_.rows.data_ptr<float>();
    row_mean_ = std::accumulate(rows, rows + rows_, 0.0) / static_cast<double>(rows_);
  }

  double row_weight(std::int64_t row) const {
    if (!moments_.rows.defined()) return 1;
    return std::sqrt(row_mean_ / double{moments_.rows.data_ptr<float>()[row]});
  }

  double root_mean_of_sums() {
    const double sum = std::accumulate(row_sums(), row_sums() + rows_, 0.0);
    return std::sqrt(sum / static_cast<double>(numbers()));
  }

  std::int64_t columns_;
  std::int64_t rows_;
  std::int64_t block_rows_;
  ops::Fp32Block gradient_;
  ops::Fp32Block value_;
  Moments moments_;
  double factor_;
  at::Tensor sums_;     // Of each row, then of each column.
  at::Tensor weights_;  // Of each column.
  double row_mean_ = 1;
};

}  // namespace

double Adafactor::rate_of_step(std::uint64_t step, double factor) const {
  const auto t = static_cast<double>(step);
  if (!settings_.relative_step) return settings_.learning_rate * factor;
  return std::min(settings_.warmup_init ? 1e-6 * t : 1e-2, 1 / std::sqrt(t)) * factor;
}

double Adafactor::learning_rate(double factor) const {
  return rate_of_step(steps() + 1, factor);
}

std::vector<Optimizer::StateShape> Adafactor::shape_states(at::IntArrayRef sizes,
                                                           at::ScalarType) const {
  require(sizes.size() == 1 || sizes.size() == 2, "parameters are vectors and matrices");
  if (sizes.size() == 1) return {{"variance", {sizes[0]}, at::kFloat}};
  return {{"row_variance", {sizes[0]}, at::kFloat}, {"column_variance", {sizes[1]}, at::kFloat}};
}

void Adafactor::update(const Part& part, const Factors& factors) {
  Moments moments{.rows = {}, .columns = part.states.back()};
  if (part.states.size() > 1) moments.rows = part.states.front();
  Update update(part.value, part.grad, std::move(moments), factors.gradient);
  double rate = rate_of_step(steps(), factors.rate);
  if (settings_.scale_parameter) rate *= std::max(settings_.scale_epsilon, update.value_rms());
  const double kept = 1 - std::pow(static_cast<double>(steps()), settings_.decay_rate);
  update.take_moments(kept, settings_.gradient_epsilon);
  const double too_long = std::max(1.0, update.update_rms() / settings_.clip_threshold);
  update.move(1 - rate * settings_.weight_decay, rate / too_long);
}

}  // namespace headroom::trainer
