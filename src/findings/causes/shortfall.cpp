// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/shortfall.h"

#include <fmt/format.h>

#include <algorithm>

#include "findings/causes/amounts.h"

namespace headroom::findings {
namespace {

// The memory that a job needs on the card besides its tensors: context, code objects, the
// libraries' workspaces.
Bytes overhead(Bytes capacity) {
  return std::max(768_MiB, Bytes{capacity.value / 20});
}

Reading over_allowance(const FailedAllocation& failed) {
  const bool room = failed.free && failed.asked && *failed.free > *failed.asked;
  return {Shortfall::over_allowance, room ? 0.95 : 0.85,
          fmt::format(
              "The process may use {}{}. It asks for {} more than it has{}.",
              to_string(*failed.allowed),
              failed.capacity ? fmt::format(" of the card's {}", to_string(*failed.capacity)) : "",
              failed.asked ? to_string(*failed.asked) : "more",
              room ? fmt::format(", while {} is free", to_string(*failed.free)) : ""),
          Shortfall::unknown, 0};
}

Reading larger_than_card(const FailedAllocation& failed) {
  // An absurd amount is probably a mistake in the program and not its need.
  const bool absurd = failed.asked->value / 30 > failed.capacity->value;
  return {Shortfall::larger_than_card, absurd ? 0.6 : 0.9,
          fmt::format("The job asks for {} in one piece. The whole card has {}.",
                      to_string(*failed.asked), to_string(*failed.capacity)),
          Shortfall::unknown, 0};
}

// More is free than was requested, and yet the request was refused.
Reading refused(const FailedAllocation& failed) {
  const Bytes idle = failed.idle.value_or(Bytes{});
  Reading reading = {Shortfall::refused_with_room, 0.45,
                     fmt::format("The job asks for {}, and {} is reported free.",
                                 to_string(*failed.asked), to_string(*failed.free)),
                     Shortfall::unknown, 0};
  const bool much_idle = idle > *failed.asked && part_of(idle, *failed.capacity) >= 0.2;
  const bool nearly_full = part_of(failed.allocated.value_or(Bytes{}), *failed.capacity) >= 0.75;
  if (much_idle) {
    reading.second = Shortfall::fragmented;
    reading.second_sure = 0.4;
  } else if (nearly_full) {
    reading.sure = 0.35;
    reading.second = Shortfall::own_need;
    reading.second_sure = 0.45;
  }
  return reading;
}

Reading weigh_shares(const FailedAllocation& failed) {
  const Bytes capacity = *failed.capacity;
  const Bytes idle = failed.idle.value_or(Bytes{});
  const Bytes own = *failed.allocated;
  const Bytes others =
      std::max(failed.named_others, saturating_sub(failed.unaccounted().value_or(Bytes{}),
                                                   failed.process ? Bytes{} : overhead(capacity)));
  const std::string sum = fmt::format(
      "Of {}, the job has allocated {} and keeps {} reserved but unused, and {} is free. The other "
      "{} is outside its allocator.",
      to_string(capacity), to_string(own), to_string(idle),
      failed.free ? to_string(*failed.free) : "an unknown amount",
      failed.free ? to_string(*failed.unaccounted()) : to_string(others));
  const double own_part = part_of(own, capacity), other_part = part_of(others, capacity);
  const double idle_part = part_of(idle, capacity);
  const bool idle_would_do = idle + failed.free.value_or(Bytes{}) >= *failed.asked;
  const double own_sure = own_part >= 0.85   ? 0.88
                          : own_part >= 0.75 ? 0.75
                          : own_part >= 0.6  ? 0.6
                                             : 0.45;
  if (idle_would_do && idle_part >= 0.12 && idle_part > other_part) {
    const double sure = idle >= *failed.asked && idle_part >= 0.2 ? 0.85 : 0.7;
    return {Shortfall::fragmented, sure, sum, Shortfall::own_need, std::min(own_sure, 1 - sure)};
  }
  // The job would not have fitted even alone on the card.
  const bool never_fits = own + *failed.asked > saturating_sub(capacity, overhead(capacity));
  if (idle_would_do && !never_fits && idle_part >= 0.04 && idle_part > other_part) {
    // Packed, the request would have fitted, and little beyond it: a job that nearly fills the card
    // may have failed at the next one.
    const bool nearly_full = own_part >= 0.88;
    const double pieces = nearly_full ? 0.25 : 0.5, need = nearly_full ? 0.55 : 0.4;
    return nearly_full ? Reading{Shortfall::own_need, need, sum, Shortfall::fragmented, pieces}
                       : Reading{Shortfall::fragmented, pieces, sum, Shortfall::own_need, need};
  }
  const bool crowded = other_part >= 0.2 || (other_part >= 0.1 && own_part < 0.5);
  if (crowded && !(never_fits && other_part < 0.3)) {
    // Without the process's own total, some of it may belong to the job.
    const bool told = failed.process || failed.named_others.value > 0;
    const double sure = other_part >= 0.5   ? (told ? 0.88 : 0.78)
                        : other_part >= 0.3 ? (told ? 0.78 : 0.7)
                                            : 0.55;
    return {Shortfall::others, sure, sum, Shortfall::own_need, std::min(own_sure, 1 - sure)};
  }
  const double sure = never_fits ? std::max(own_sure, 0.85) : own_sure;
  if (other_part >= 0.08) {
    return {Shortfall::own_need, std::min(sure, 0.7), sum, Shortfall::others, 0.3};
  }
  return {Shortfall::own_need, sure, sum, Shortfall::fragmented, idle_part >= 0.08 ? 0.25 : 0.05};
}

}  // namespace

Reading read_figures(const FailedAllocation& failed) {
  if (failed.allowed) {
    const bool below = !failed.capacity || part_of(*failed.allowed, *failed.capacity) < 0.98;
    const Bytes own = failed.allocated.value_or(Bytes{}) + failed.idle.value_or(Bytes{}) +
                      failed.asked.value_or(Bytes{});
    if (below && (!failed.allocated || own.value * 50 >= failed.allowed->value * 49)) {
      return over_allowance(failed);
    }
  }
  if (!failed.asked || !failed.capacity) return {};
  if (*failed.asked > *failed.capacity) return larger_than_card(failed);
  // A few hundred MiB do not count as free, because the driver's figure leaves out what graphics
  // programs hold.
  if (failed.free && *failed.free > *failed.asked + overhead(*failed.capacity)) {
    return refused(failed);
  }
  if (!failed.allocated || (!failed.free && failed.named_others.value == 0)) return {};
  return weigh_shares(failed);
}

bool is_tiny_beside_free(const FailedAllocation& failed) {
  constexpr std::uint64_t far_more = 5000;
  return read_figures(failed).of(Shortfall::refused_with_room) > 0 &&
         failed.asked->value < failed.free->value / far_more;
}

}  // namespace headroom::findings
