// SPDX-License-Identifier: Apache-2.0
#include "allocator/forensics/batch_observer.h"

#include <algorithm>

namespace headroom::allocator {

std::uint64_t BatchLine::largest(std::uint64_t capacity_bytes) const {
  const double left =
      static_cast<double>(capacity_bytes) - static_cast<double>(constant_bytes) - at_zero_bytes;
  if (left <= 0 || per_sample_bytes <= 0) return 0;
  // Half a byte of tolerance, so that an exact fit is not lost to rounding.
  const double batch = (left + 0.5) / per_sample_bytes;
  constexpr double most = 1e18;  // A slope close to zero does not promise more.
  return static_cast<std::uint64_t>(std::min(batch, most));
}

void BatchObserver::observe(const BatchObservation& observation) {
  if (observation.batch == 0) return;
  constant_bytes_ = std::max(constant_bytes_, observation.constant_bytes);
  const auto same = std::find_if(peaks_.begin(), peaks_.end(), [&](const BatchObservation& seen) {
    return seen.batch == observation.batch;
  });
  if (same != peaks_.end())
    same->variable_bytes = std::max(same->variable_bytes, observation.variable_bytes);
  else if (peaks_.size() < max_batches)
    peaks_.push_back(observation);
}

std::optional<BatchLine> BatchObserver::line() const {
  if (peaks_.empty()) return std::nullopt;
  BatchLine line;
  line.constant_bytes = constant_bytes_;
  double mean_batch = 0;
  double mean_bytes = 0;
  for (const BatchObservation& peak : peaks_) {
    mean_batch += static_cast<double>(peak.batch) / static_cast<double>(peaks_.size());
    mean_bytes += static_cast<double>(peak.variable_bytes) / static_cast<double>(peaks_.size());
  }
  if (peaks_.size() == 1) {
    line.per_sample_bytes = mean_bytes / mean_batch;
  } else {
    double products = 0;
    double squares = 0;
    for (const BatchObservation& peak : peaks_) {
      const double batch = static_cast<double>(peak.batch) - mean_batch;
      products += batch * (static_cast<double>(peak.variable_bytes) - mean_bytes);
      squares += batch * batch;
    }
    line.basis = BatchBasis::two_or_more_batches;
    line.per_sample_bytes = products / squares;
    line.at_zero_bytes = mean_bytes - line.per_sample_bytes * mean_batch;
  }
  if (!(line.per_sample_bytes > 0)) return std::nullopt;
  return line;
}

}  // namespace headroom::allocator
