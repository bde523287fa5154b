// SPDX-License-Identifier: Apache-2.0
// A value over the steps of a run in bounded memory: however many steps there are, a few hundred
// pieces of equally many values each, of which the lowest and the highest are kept, so that no
// spike is lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom::report {

struct CurvePiece {
  std::uint64_t first = 0, last = 0;  // Steps.
  std::uint64_t count = 0;            // Values; at least 1.
  double lowest = 0, highest = 0, sum = 0;
  double mean() const { return sum / static_cast<double>(count); }
  double middle() const { return (static_cast<double>(first) + static_cast<double>(last)) / 2; }
};

class ThinnedCurve {
 public:
  static constexpr std::size_t usual_pieces = 400;
  // Requires: most_pieces > 1.
  explicit ThinnedCurve(std::size_t most_pieces = usual_pieces);

  // Passes over what is not finite and what is larger than 10¹⁸, which no run has. Requires: `step`
  // never falls.
  void add(std::uint64_t step, double value);

  const std::vector<CurvePiece>& pieces() const { return pieces_; }
  bool empty() const { return pieces_.empty(); }
  // Each requires: not empty.
  double lowest() const;
  double highest() const;
  double latest() const { return latest_; }
  // The last piece that begins at `step` or before; null if there is none.
  const CurvePiece* piece_at(std::uint64_t step) const;

 private:
  void halve();

  std::size_t most_pieces_;
  std::uint64_t per_piece_ = 1;
  double latest_ = 0;
  std::vector<CurvePiece> pieces_;
};

// Steps at which something happened, likewise: once there are too many, every second one is left
// out.
class StepMarks {
 public:
  static constexpr std::size_t most = 200;
  void add(std::uint64_t step);
  std::uint64_t count() const { return count_; }
  const std::vector<std::uint64_t>& steps() const { return steps_; }

 private:
  std::uint64_t count_ = 0;
  std::uint64_t every_ = 1;  // Of those that are added, each such one is kept.
  std::vector<std::uint64_t> steps_;
};

}  // namespace headroom::report
