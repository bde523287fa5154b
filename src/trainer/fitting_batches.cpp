// SPDX-License-Identifier: Apache-2.0
#include "trainer/fitting_batches.h"

#include <fmt/format.h>

#include <algorithm>

namespace headroom::trainer {

std::vector<FittingBatches::Piece> FittingBatches::cut(std::span<const Indices> batches) const {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const Indices& batch = batches[i];
    for (std::size_t first = 0; first < batch.size(); first += at_once_) {
      const std::size_t last = std::min<std::size_t>(batch.size(), first + at_once_);
      pieces.push_back({Indices(batch.begin() + static_cast<std::ptrdiff_t>(first),
                                batch.begin() + static_cast<std::ptrdiff_t>(last)),
                        i, first / at_once_});
    }
  }
  return pieces;
}

Result<double> FittingBatches::attempt(std::span<const Indices> batches, const Work& work) const {
  double loss = 0;
  for (const auto& [samples, batch, part] : cut(batches)) {
    HEADROOM_TRY(const double one, work(samples, batch, part));
    loss += one;
  }
  return loss;
}

bool FittingBatches::shrink(std::span<const Indices> batches, std::uint64_t step) {
  std::size_t largest = 0;
  for (const Indices& batch : batches) largest = std::max(largest, batch.size());
  const std::uint64_t tried = std::min<std::uint64_t>(at_once_, largest);
  if (tried <= 1) return false;
  at_once_ = (tried + 1) / 2;
  if (memory_.failure()) events_.push_back({step, *memory_.failure(), at_once_});
  memory_.forgive();
  observer_.on_note(fmt::format(
      "step {}: out of memory with {} {} at once; it is done again, and all after it, with "
      "{}: the batch of a step stays as it is",
      step, tried, unit_, at_once_));
  return true;
}

Result<double> FittingBatches::run(std::span<const Indices> batches, std::uint64_t step,
                                   const Work& work, const std::function<void()>& start_over) {
  while (true) {
    Result<double> loss = 0.0;
    const Status done = memory_.run([&]() -> Status {
      loss = attempt(batches, work);
      return Done{};
    });
    if (done) return loss;
    if (!memory_.failure() || !shrink(batches, step)) return done.error();
    start_over();
  }
}

}  // namespace headroom::trainer
