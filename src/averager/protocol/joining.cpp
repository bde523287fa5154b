// SPDX-License-Identifier: Apache-2.0
#include "averager/protocol/joining.h"

namespace headroom::averager::protocol {

Action Joining::action() const {
  const LifeWord joining{.incarnation = self_.incarnation, .life = Life::joining};
  switch (step_) {
    case Step::load_bell:
      return {.verb = Verb::load, .word = {Area::bell}};
    case Step::load_life:
    case Step::load_others_life:
      return {.verb = Verb::load, .word = {Area::life, index_}};
    case Step::load_decided:
      return {.verb = Verb::load, .word = {Area::decided, index_}};
    case Step::sleep:
      return {.verb = Verb::sleep, .word = {Area::bell}, .expected = bell_};
    case Step::write_finished:
      return {
          .verb = Verb::store, .word = {Area::finished, self_.rank}, .value = finished_everything};
    case Step::write_joining:
      return {.verb = Verb::store, .word = {Area::life, self_.rank}, .value = to_word(joining)};
    case Step::write_first:
      return {.verb = Verb::store,
              .word = {Area::finished, self_.rank},
              .value = std::uint64_t{newest_.bucket} + 1};
    case Step::load_others_finished:
      return {.verb = Verb::load, .word = {Area::finished, index_}};
    case Step::write_member:
      return {.verb = Verb::store, .word = {Area::life, self_.rank}, .value = self_.life_word()};
    case Step::ring_joining:
    case Step::ring_member:
      return {.verb = Verb::ring, .word = {Area::bell}};
    case Step::finished:
    case Step::alone:
      break;
  }
  return {.verb = Verb::finished};
}

// All slots were read: what the newest decision means for this rank.
void Joining::found_decisions() {
  const bool expected = knows_newest_ && (newest_.next & bit(self_.rank)) != 0;
  // Before the first decision everyone is expected.
  const bool still_old = !asked_ && (!knows_newest_ || expected);
  if (asked_ && expected)
    step_ = Step::write_first;
  else if (asked_ || still_old)
    step_ = Step::sleep;
  else
    step_ = Step::write_finished;
}

void Joining::next_other() {
  ++index_;
  if (index_ == self_.rank) ++index_;
  if (index_ < self_.ranks)
    step_ = Step::load_others_life;
  else
    step_ = waits_for_ == 0 ? Step::write_member : Step::sleep;
}

void Joining::took(std::uint64_t result) {
  switch (step_) {
    case Step::load_bell:
      bell_ = result;
      live_ = waits_for_ = 0;
      index_ = 0;
      step_ = Step::load_life;
      if (is_admitted_) {
        index_ = ~std::uint32_t{0};
        next_other();
      }
      return;
    case Step::load_life:
      if (index_ != self_.rank && is_live(result)) live_ |= bit(index_);
      if (++index_ < self_.ranks) return;
      index_ = 0;
      knows_newest_ = false;
      waits_for_ = live_;
      step_ = live_ == 0 ? Step::alone : Step::load_decided;
      return;
    case Step::load_decided:
      if (result != 0 && (!knows_newest_ || to_decision(result).bucket > newest_.bucket)) {
        knows_newest_ = true;
        newest_ = to_decision(result);
      }
      if (++index_ == self_.slots) found_decisions();
      return;
    case Step::sleep:
      step_ = Step::load_bell;
      return;
    case Step::write_finished:
      step_ = Step::write_joining;
      return;
    case Step::write_joining:
      asked_ = true;
      step_ = Step::ring_joining;
      return;
    case Step::ring_joining:
      step_ = Step::load_bell;
      return;
    case Step::write_first:
      is_admitted_ = true;
      step_ = Step::load_bell;
      return;
    case Step::load_others_life:
      step_ = Step::load_others_finished;
      if (!is_live(result)) next_other();
      return;
    case Step::load_others_finished:
      if (result <= newest_.bucket) waits_for_ |= bit(index_);
      next_other();
      return;
    case Step::write_member:
      step_ = Step::ring_member;
      return;
    case Step::ring_member:
      step_ = Step::finished;
      return;
    case Step::finished:
    case Step::alone:
      return;
  }
}

}  // namespace headroom::averager::protocol
