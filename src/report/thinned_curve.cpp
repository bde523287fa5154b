// SPDX-License-Identifier: Apache-2.0
#include "report/thinned_curve.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/require.h"

namespace headroom::report {
namespace {

constexpr double largest = 1e18;

CurvePiece merged(const CurvePiece& one, const CurvePiece& next) {
  return {.first = one.first,
          .last = next.last,
          .count = one.count + next.count,
          .lowest = std::min(one.lowest, next.lowest),
          .highest = std::max(one.highest, next.highest),
          .sum = one.sum + next.sum};
}

}  // namespace

ThinnedCurve::ThinnedCurve(std::size_t most_pieces) : most_pieces_(most_pieces) {
  require(most_pieces > 1, "a curve has more than one piece");
}

void ThinnedCurve::add(std::uint64_t step, double value) {
  if (!std::isfinite(value) || std::abs(value) > largest) return;
  latest_ = value;
  const CurvePiece own{step, step, 1, value, value, value};
  if (!pieces_.empty() && pieces_.back().count < per_piece_) {
    pieces_.back() = merged(pieces_.back(), own);
    return;
  }
  if (pieces_.size() == most_pieces_) halve();
  if (!pieces_.empty() && pieces_.back().count < per_piece_) {
    pieces_.back() = merged(pieces_.back(), own);
  } else {
    pieces_.push_back(own);
  }
}

void ThinnedCurve::halve() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < pieces_.size(); i += 2) {
    pieces_[kept] = i + 1 < pieces_.size() ? merged(pieces_[i], pieces_[i + 1]) : pieces_[i];
    ++kept;
  }
  pieces_.resize(kept);
  per_piece_ *= 2;
}

double ThinnedCurve::lowest() const {
  require(!empty(), "a curve without values has no lowest one");
  return std::min_element(pieces_.begin(), pieces_.end(),
                          [](const auto& a, const auto& b) { return a.lowest < b.lowest; })
      ->lowest;
}

double ThinnedCurve::highest() const {
  require(!empty(), "a curve without values has no highest one");
  return std::max_element(pieces_.begin(), pieces_.end(),
                          [](const auto& a, const auto& b) { return a.highest < b.highest; })
      ->highest;
}

const CurvePiece* ThinnedCurve::piece_at(std::uint64_t step) const {
  const auto after = std::upper_bound(
      pieces_.begin(), pieces_.end(), step,
      [](std::uint64_t wanted, const CurvePiece& piece) { return wanted < piece.first; });
  return after == pieces_.begin() ? nullptr : &*std::prev(after);
}

void StepMarks::add(std::uint64_t step) {
  if (count_++ % every_ != 0) return;
  steps_.push_back(step);
  if (steps_.size() <= most) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < steps_.size(); i += 2) steps_[kept++] = steps_[i];
  steps_.resize(kept);
  every_ *= 2;
}

}  // namespace headroom::report
