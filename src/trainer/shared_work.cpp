// SPDX-License-Identifier: Apache-2.0
#include "trainer/shared_work.h"

#include <fmt/format.h>

#include <bit>
#include <optional>

namespace headroom::trainer {
namespace {

std::vector<double> add_up(const std::vector<Told>& told) {
  std::vector<double> sums(told.front().numbers.size(), 0.0);
  for (const Told& one : told) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += one.numbers[i];
  }
  return sums;
}

}  // namespace

Result<std::vector<double>> SharedWork::do_all(std::size_t count, const Part& part,
                                               std::uint64_t steps,
                                               std::deque<Parameter>* trained) {
  while (true) {
    HEADROOM_CHECK(go_on_without_lost(steps));
    const auto [first, last] = ranks_.share(count);
    HEADROOM_TRY(std::vector<double> numbers, part(first, last));
    numbers.push_back(observer_.wants_stop() ? 1 : 0);
    bool together = true;
    if (trained != nullptr) {
      HEADROOM_TRY(together, ranks_.add_up(*trained));
    }
    if (together) {
      HEADROOM_TRY(const auto told, ranks_.tell(numbers));
      if (told) {
        std::vector<double> sums = add_up(*told);
        wants_stop_ = sums.back() > 0;
        sums.pop_back();
        return sums;
      }
    }
    if (trained != nullptr) drop_gradients(*trained);
  }
}

Status SharedWork::go_on_without_lost(std::uint64_t steps) {
  const std::uint32_t lost = ranks_.lost() & ~known_lost_;
  known_lost_ = ranks_.lost();
  if (lost == 0 || !ranks_.leads()) return Done{};
  const bool is_new = !output_.writes();
  if (is_new) {
    HEADROOM_CHECK(output_.take_over(steps));
    observer_.on_lead();
  }
  observer_.on_note(fmt::format(
      "rank {} is gone; {} that {} left share what it had to do{}", std::countr_zero(lost),
      std::popcount(ranks_.present()), std::popcount(ranks_.present()) == 1 ? "is" : "are",
      is_new ? fmt::format(", and rank {} writes from here on", ranks_.rank()) : ""));
  return Done{};
}

}  // namespace headroom::trainer
