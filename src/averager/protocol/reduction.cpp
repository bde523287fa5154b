// SPDX-License-Identifier: Apache-2.0
#include "averager/protocol/reduction.h"

namespace headroom::averager::protocol {

// Every rank begins with its own share of the chunks and goes round, so ranks seldom want the same.
std::uint32_t Reduction::chunk() const {
  const std::uint64_t share = std::uint64_t{chunks_} * self_.rank / self_.ranks;
  return static_cast<std::uint32_t>((share + position_) % chunks_);
}

Decision Reduction::proposal() const {
  Decision decision{.bucket = bucket_, .present = arrived_, .next = arrived_};
  if (admits_) decision.next |= joining_;
  return decision;
}

Action Reduction::action() const {
  const std::uint32_t slot = self_.slot(bucket_);
  switch (step_) {
    case Step::load_bell:
    case Step::load_chunk_bell:
      return {.verb = Verb::load, .word = {Area::bell}};
    case Step::load_decided:
      return {.verb = Verb::load, .word = {Area::decided, slot}};
    case Step::load_life:
      return {.verb = Verb::load, .word = {Area::life, rank_}};
    case Step::load_arrived:
      return {.verb = Verb::load, .word = {Area::arrived, slot}};
    case Step::write_decided:
      return {.verb = Verb::exchange,
              .word = {Area::decided, slot},
              .expected = seen_,
              .value = to_word(proposal())};
    case Step::ring_decided:
    case Step::ring_done:
    case Step::ring_finished:
      return {.verb = Verb::ring, .word = {Area::bell}};
    case Step::sleep:
      return {.verb = Verb::sleep, .word = {Area::bell}, .expected = bell_};
    case Step::compare:
      return {.verb = Verb::compare, .mask = decision_.present};
    case Step::write_finished:
      return {.verb = Verb::store,
              .word = {Area::finished, self_.rank},
              .value = std::uint64_t{bucket_} + 1};
    case Step::finished:
    case Step::expelled:
      return {.verb = Verb::finished};
    default:
      return work();
  }
}

Action Reduction::work() const {
  const auto me = static_cast<std::uint8_t>(self_.rank);
  Chunk mine{.bucket = bucket_, .worker = me, .scratch = scratch_};
  switch (step_) {
    case Step::load_chunk:
      return {.verb = Verb::load, .word = chunk_word()};
    case Step::load_worker:
      return {.verb = Verb::load, .word = {Area::life, to_chunk(seen_, bucket_).worker}};
    case Step::take:
      mine.stage = to_chunk(seen_, bucket_).stage == Stage::summed ? Stage::summed : Stage::summing;
      return {
          .verb = Verb::exchange, .word = chunk_word(), .expected = seen_, .value = to_word(mine)};
    case Step::sum:
      return {.verb = Verb::sum, .chunk = chunk(), .mask = decision_.present};
    case Step::write_summed:
      mine.stage = Stage::summed;
      return {.verb = Verb::store, .word = chunk_word(), .value = to_word(mine)};
    case Step::push:
      return {.verb = Verb::push, .chunk = chunk(), .mask = decision_.present, .scratch = scratch_};
    case Step::write_done:
      mine.stage = Stage::done;
      return {.verb = Verb::store, .word = chunk_word(), .value = to_word(mine)};
    case Step::collect:
      return {.verb = Verb::collect, .chunk = chunk()};
    default:
      return {.verb = Verb::finished};
  }
}

void Reduction::settle(const Decision& decision) {
  decision_ = decision;
  waits_for_ = 0;
  step_ = (decision.present & bit(self_.rank)) != 0 ? Step::compare : Step::expelled;
}

void Reduction::took(std::uint64_t result) {
  switch (step_) {
    case Step::load_bell:
    case Step::load_decided:
    case Step::load_life:
    case Step::load_arrived:
    case Step::write_decided:
      took_agreement(result);
      return;
    case Step::ring_decided:
      settle(decision_);
      return;
    case Step::sleep:
      step_ = chunks_only_ ? Step::load_chunk_bell : Step::load_bell;
      return;
    case Step::compare:
      chunks_ = static_cast<std::uint32_t>(result);
      chunks_only_ = true;
      step_ = chunks_ == 0 ? Step::write_finished : Step::load_chunk_bell;
      return;
    case Step::write_finished:
      step_ = Step::ring_finished;
      return;
    case Step::ring_finished:
      step_ = Step::finished;
      return;
    case Step::finished:
    case Step::expelled:
      return;
    default:
      took_chunk(result);
      return;
  }
}

void Reduction::took_agreement(std::uint64_t result) {
  switch (step_) {
    case Step::load_bell:
      bell_ = result;
      step_ = Step::load_decided;
      return;
    case Step::load_decided:
      if (is_decided(result, bucket_)) return settle(to_decision(result));
      seen_ = result;
      rank_ = 0;
      live_ = joining_ = 0;
      step_ = Step::load_life;
      return;
    case Step::load_life:
      // A rank that joins is expected only if a decision said so; its life may still say `joining`.
      if (is_live(result)) live_ |= bit(rank_);
      if (to_life(result).life == Life::joining) joining_ |= bit(rank_);
      if (++rank_ == self_.ranks) step_ = Step::load_arrived;
      return;
    case Step::load_arrived:
      // Lives were read before: the arrival of a rank that was dead then is final.
      arrived_ = arrived_ranks(result, bucket_);
      waits_for_ = static_cast<RankMask>(expected_ & live_ & ~arrived_);
      step_ = waits_for_ == 0 ? Step::write_decided : Step::sleep;
      return;
    default:  // write_decided
      if (result == seen_) {
        decision_ = proposal();
        step_ = Step::ring_decided;
      } else {
        settle(to_decision(result));
      }
      return;
  }
}

void Reduction::begin_pass() {
  waits_for_ = 0;
  position_ = first_open_;
  step_ = Step::load_chunk;
}

void Reduction::next_chunk() {
  ++position_;
  if (position_ < chunks_) {
    step_ = Step::load_chunk;
  } else if (first_open_ == chunks_) {
    step_ = Step::write_finished;
  } else {
    // The first pass leaves others alone; from then on whoever holds a chunk is looked at.
    step_ = looks_at_workers_ ? Step::sleep : Step::load_chunk_bell;
    looks_at_workers_ = true;
  }
}

void Reduction::found_chunk(std::uint64_t word) {
  seen_ = word;
  const Chunk found = to_chunk(word, bucket_);
  scratch_ = found.stage == Stage::summed ? found.scratch : static_cast<std::uint8_t>(self_.rank);
  if (found.stage == Stage::open)
    step_ = Step::take;
  else if (found.stage == Stage::done)
    step_ = Step::collect;
  else if (looks_at_workers_)
    step_ = Step::load_worker;
  else
    next_chunk();
}

void Reduction::took_chunk(std::uint64_t result) {
  switch (step_) {
    case Step::load_chunk_bell:
      bell_ = result;
      return begin_pass();
    case Step::load_chunk:
      return found_chunk(result);
    case Step::load_worker:
      if (!is_live(result)) {
        step_ = Step::take;
      } else {
        waits_for_ |= bit(to_chunk(seen_, bucket_).worker);
        next_chunk();
      }
      return;
    case Step::take:
      if (result != seen_) return found_chunk(result);
      step_ = to_chunk(seen_, bucket_).stage == Stage::summed ? Step::push : Step::sum;
      return;
    case Step::sum:
      step_ = Step::write_summed;
      return;
    case Step::write_summed:
      step_ = Step::push;
      return;
    case Step::push:
      step_ = Step::write_done;
      return;
    case Step::write_done:
      step_ = Step::ring_done;
      return;
    case Step::ring_done:
      step_ = Step::collect;
      return;
    default:  // collect
      if (position_ == first_open_) ++first_open_;
      return next_chunk();
  }
}

}  // namespace headroom::averager::protocol
