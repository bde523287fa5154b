// SPDX-License-Identifier: Apache-2.0
#include "averager/protocol/arrival.h"

namespace headroom::averager::protocol {

Action Arrival::action() const {
  const std::uint32_t slot = self_.slot(bucket_);
  switch (step_) {
    case Step::load_bell:
      return {.verb = Verb::load, .word = {Area::bell}};
    case Step::load_life:
      return {.verb = Verb::load, .word = {Area::life, rank_}};
    case Step::load_finished:
      return {.verb = Verb::load, .word = {Area::finished, rank_}};
    case Step::sleep:
      return {.verb = Verb::sleep, .word = {Area::bell}, .expected = bell_};
    case Step::load_own_life:
      return {.verb = Verb::load, .word = {Area::life, self_.rank}};
    case Step::publish:
      return {.verb = Verb::publish};
    case Step::load_arrived:
      return {.verb = Verb::load, .word = {Area::arrived, slot}};
    case Step::write_arrived: {
      const auto others = arrived_ranks(arrived_, bucket_);
      const Arrived with_me{.bucket = bucket_,
                            .ranks = static_cast<RankMask>(others | bit(self_.rank))};
      return {.verb = Verb::exchange,
              .word = {Area::arrived, slot},
              .expected = arrived_,
              .value = to_word(with_me)};
    }
    case Step::ring:
      return {.verb = Verb::ring, .word = {Area::bell}};
    case Step::finished:
    case Step::expelled:
      break;
  }
  return {.verb = Verb::finished};
}

// Goes on to the next rank whose use of the slot must have ended.
void Arrival::next_rank() {
  ++rank_;
  if (rank_ == self_.rank) ++rank_;
  if (rank_ < self_.ranks)
    step_ = Step::load_life;
  else
    step_ = waits_for_ == 0 ? Step::load_own_life : Step::sleep;
}

void Arrival::took(std::uint64_t result) {
  switch (step_) {
    case Step::load_bell:
      bell_ = result;
      waits_for_ = 0;
      rank_ = ~std::uint32_t{0};
      if (bucket_ < self_.slots)
        step_ = Step::load_own_life;  // The slot was never used.
      else
        next_rank();
      return;
    case Step::load_life:
      if (is_live(result))
        step_ = Step::load_finished;
      else
        next_rank();
      return;
    case Step::load_finished:
      if (result < std::uint64_t{bucket_} - self_.slots + 1) waits_for_ |= bit(rank_);
      next_rank();
      return;
    case Step::sleep:
      step_ = Step::load_bell;
      return;
    case Step::load_own_life:
      step_ = result == self_.life_word() ? Step::publish : Step::expelled;
      return;
    case Step::publish:
      step_ = Step::load_arrived;
      return;
    case Step::load_arrived:
      arrived_ = result;
      step_ = Step::write_arrived;
      return;
    case Step::write_arrived:
      step_ = result == arrived_ ? Step::ring : Step::write_arrived;
      arrived_ = result;
      return;
    case Step::ring:
      step_ = Step::finished;
      return;
    case Step::finished:
    case Step::expelled:
      return;
  }
}

}  // namespace headroom::averager::protocol
