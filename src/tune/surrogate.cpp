// SPDX-License-Identifier: Apache-2.0
#include "tune/surrogate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/require.h"

namespace headroom::tune {
namespace {

// How smooth the time is along an axis, in octaves. The others are standard deviations of a natural
// logarithm: how far it may lie from the trend, and how far the constant and the trend's factor may
// lie from what is assumed. tune/search_test.cpp measures what comes of them.
constexpr double length = 1.6;
constexpr double rough = 0.4;
constexpr double level = 0.3;
constexpr double trend_factor = 0.8;
constexpr double trend_doubt = 0.5;
constexpr double floor_variance = 1e-9;

double squared(double value) {
  return value * value;
}

// L⁻¹ b.
std::vector<double> solve_lower(const std::vector<std::vector<double>>& factor,
                                std::vector<double> b) {
  for (std::size_t i = 0; i < b.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) b[i] -= factor[i][j] * b[j];
    b[i] /= factor[i][i];
  }
  return b;
}

// L⁻ᵀ b.
std::vector<double> solve_upper(const std::vector<std::vector<double>>& factor,
                                std::vector<double> b) {
  for (std::size_t i = b.size(); i-- > 0;) {
    for (std::size_t j = i + 1; j < b.size(); ++j) b[i] -= factor[j][i] * b[j];
    b[i] /= factor[i][i];
  }
  return b;
}

std::vector<std::vector<double>> cholesky(std::vector<std::vector<double>> matrix) {
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double rest = matrix[i][j];
      for (std::size_t k = 0; k < j; ++k) rest -= matrix[i][k] * matrix[j][k];
      matrix[i][j] = i == j ? std::sqrt(std::max(rest, floor_variance)) : rest / matrix[j][j];
    }
  }
  return matrix;
}

}  // namespace

Surrogate::Surrogate(std::vector<std::vector<double>> where, std::vector<double> trend)
    : where_(std::move(where)), trend_(std::move(trend)) {
  require(where_.size() == trend_.size(), "each point has a place and a trend");
}

double Surrogate::kernel(std::size_t a, std::size_t b) const {
  double distance = 0;
  for (std::size_t i = 0; i < where_[a].size(); ++i)
    distance += squared((where_[a][i] - where_[b][i]) / length);
  return squared(level) + squared(rough) * std::exp(-distance / 2) +
         squared(trend_doubt) * trend_[a] * trend_[b];
}

void Surrogate::learn(const std::vector<Observation>& seen) {
  require(!seen.empty(), "something was measured");
  points_.clear();
  mean_ = 0;
  for (const Observation& one : seen) {
    points_.push_back(one.point);
    mean_ += (one.log_ms - trend_factor * trend_[one.point]) / static_cast<double>(seen.size());
  }
  std::vector<std::vector<double>> matrix(seen.size(), std::vector<double>(seen.size()));
  std::vector<double> rest(seen.size());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    for (std::size_t j = 0; j < seen.size(); ++j) matrix[i][j] = kernel(points_[i], points_[j]);
    matrix[i][i] += seen[i].variance;
    rest[i] = seen[i].log_ms - trend_factor * trend_[points_[i]] - mean_;
  }
  factor_ = cholesky(std::move(matrix));
  weights_ = solve_upper(factor_, solve_lower(factor_, std::move(rest)));
}

Belief Surrogate::believe(std::size_t point) const {
  std::vector<double> near(points_.size());
  Belief belief{mean_ + trend_factor * trend_[point], kernel(point, point)};
  for (std::size_t i = 0; i < points_.size(); ++i) {
    near[i] = kernel(point, points_[i]);
    belief.log_ms += near[i] * weights_[i];
  }
  for (const double part : solve_lower(factor_, std::move(near))) belief.variance -= squared(part);
  belief.variance = std::max(belief.variance, floor_variance);
  return belief;
}

double Surrogate::improvement(std::size_t point, double best) const {
  const Belief belief = believe(point);
  const double deviation = std::sqrt(belief.variance);
  const double gain = best - belief.log_ms;
  const double z = gain / deviation;
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  return gain * 0.5 * std::erfc(-z / std::numbers::sqrt2) + deviation * density;
}

}  // namespace headroom::tune
