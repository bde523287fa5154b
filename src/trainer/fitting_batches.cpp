// SPDX-License-Identifier: Apache-2.0
#include "trainer/fitting_batches.h"

#include <fmt/format.h>

#include <algorithm>

namespace headroom::trainer {

Result<double> FittingBatches::attempt(std::span<const Indices> batches, const Work& work) const {
  double loss = 0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const Indices& batch = batches[i];
    for (std::size_t first = 0; first < batch.size(); first += at_once_) {
      const std::size_t last = std::min<std::size_t>(batch.size(), first + at_once_);
      const Indices piece(batch.begin() + static_cast<std::ptrdiff_t>(first),
                          batch.begin() + static_cast<std::ptrdiff_t>(last));
      HEADROOM_TRY(const double one, work(piece, i, first / at_once_));
      loss += one;
    }
  }
  return loss;
}

Result<double> FittingBatches::run(std::span<const Indices> batches, std::uint64_t step,
                                   const Work& work, const std::function<void()>& start_over) {
  std::size_t largest = 0;
  for (const Indices& batch : batches) largest = std::max(largest, batch.size());
  while (true) {
    Result<double> loss = 0.0;
    const Status done = memory_.run([&]() -> Status {
      loss = attempt(batches, work);
      return Done{};
    });
    if (done) return loss;
    const std::uint64_t tried = std::min<std::uint64_t>(at_once_, largest);
    if (!memory_.failure() || tried <= 1) return done.error();
    events_.push_back({step, *memory_.failure()});
    memory_.forgive();
    start_over();
    at_once_ = (tried + 1) / 2;
    observer_.on_note(fmt::format(
        "step {}: out of memory with {} samples at once; it is done again, and all after it, with "
        "{}: the batch of a step stays as it is",
        step, tried, at_once_));
  }
}

}  // namespace headroom::trainer
