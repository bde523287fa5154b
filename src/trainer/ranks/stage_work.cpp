// SPDX-License-Identifier: Apache-2.0
#include "trainer/ranks/stage_work.h"

#include <utility>

namespace headroom::trainer {
namespace {

// How a rank's try ended, as a number that is told: the largest is that of the step.
enum End : int { whole, no_memory, failed };

// What is told, in this order.
enum Number : std::size_t { loss_number, end_number, stop_number, due_number };

}  // namespace

Result<double> StageWork::run(std::span<const FittingBatches::Indices> batches, std::uint64_t step,
                              bool is_due, const Attempt& attempt,
                              const std::function<void()>& start_over) {
  while (true) {
    std::optional<double> loss;
    const Status done = memory_.run([&]() -> Status {
      HEADROOM_TRY(loss, attempt(batches_.cut(batches)));
      return Done{};
    });
    if (!done && is_of_another_rank(done.error())) return done.error();
    const End own = done ? whole : memory_.failure() ? no_memory : failed;
    if (own != whole) ranks_.streams().interrupt();
    HEADROOM_TRY(const auto told,
                 ranks_.tell({loss.value_or(0), static_cast<double>(own),
                              observer_.wants_stop() ? 1.0 : 0.0, is_due ? 1.0 : 0.0}));
    if (!told) return ended_by_another_rank();
    double sum = 0;
    End end = whole;
    wants_stop_ = wants_checkpoint_ = false;
    for (const Told& one : *told) {
      sum += one.numbers[loss_number];
      end = std::max(end, static_cast<End>(static_cast<int>(one.numbers[end_number])));
      wants_stop_ |= one.numbers[stop_number] > 0;
      wants_checkpoint_ |= one.numbers[due_number] > 0;
    }
    if (end == whole) return sum;
    start_over();
    ranks_.streams().restart();
    // Nobody sends before all have dropped what was not read.
    HEADROOM_TRY(const auto ready, ranks_.tell({0}));
    if (!ready) return ended_by_another_rank();
    if (end == no_memory && batches_.shrink(batches, step)) continue;
    failed_together_ = true;
    if (!done) return done.error();
    return ended_by_another_rank();
  }
}

}  // namespace headroom::trainer
