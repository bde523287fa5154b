// SPDX-License-Identifier: Apache-2.0
#include "tune/outcome.h"

#include <algorithm>
#include <cmath>

namespace headroom::tune {

double Baseline::noise() const {
  constexpr double least = 0.03;
  if (!ms || !again_ms) return least;
  return std::max(least, std::abs(*ms - *again_ms) / std::min(*ms, *again_ms));
}

std::optional<double> Baseline::mean_ms() const {
  if (!ms) return again_ms;
  return again_ms ? (*ms + *again_ms) / 2 : *ms;
}

std::optional<double> TuneReport::best_ms() const {
  for (const Tried& one : tried) {
    if (one.point == best) return one.ms;
  }
  return std::nullopt;
}

bool is_faster(const TuneReport& report) {
  const auto before = report.baseline.mean_ms();
  const auto after = report.best_ms();
  if (!before || !after || report.best == report.space.present) return false;
  return *before / *after > 1 + report.baseline.noise();
}

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::planned:
      return "planned";
    case Outcome::deployed:
      return "deployed";
    case Outcome::kept:
      return "kept";
    case Outcome::refused:
      return "refused";
    case Outcome::interrupted:
      return "interrupted";
    case Outcome::failed:
      return "failed";
  }
  return "failed";
}

}  // namespace headroom::tune
