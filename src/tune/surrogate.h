// SPDX-License-Identifier: Apache-2.0
// What a few measurements say of all points of a grid: a Gaussian process on the logarithm of the
// time (Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, algorithm 2.1),
// with what is known of workers, threads and cores as its mean, and the expected improvement of a
// point over the best one (Jones, Schonlau and Welch 1998, equation 15).
#pragma once

#include <cstddef>
#include <vector>

namespace headroom::tune {

struct Observation {
  std::size_t point = 0;
  double log_ms = 0;
  double variance = 0;  // Of log_ms, by the noise of the measurement.
};

struct Belief {
  double log_ms = 0;
  double variance = 0;
};

class Surrogate {
 public:
  // `where`: each point's coordinates, in octaves of its settings. `trend`: what is expected of the
  // logarithm of its time beforehand, up to a constant and a factor.
  Surrogate(std::vector<std::vector<double>> where, std::vector<double> trend);

  // Learns from these alone. Requires: at least one.
  void learn(const std::vector<Observation>& seen);
  Belief believe(std::size_t point) const;
  // How much lower than `best` the point's log_ms is expected to come out, on average over what it
  // may be.
  double improvement(std::size_t point, double best) const;

 private:
  double kernel(std::size_t a, std::size_t b) const;

  std::vector<std::vector<double>> where_;
  std::vector<double> trend_;
  std::vector<std::size_t> points_;
  double mean_ = 0;
  std::vector<std::vector<double>> factor_;  // Cholesky's, lower.
  std::vector<double> weights_;
};

}  // namespace headroom::tune
