// SPDX-License-Identifier: Apache-2.0
#include "averager/world.h"

#include <fmt/format.h>

#include "averager/fingerprint.h"

namespace headroom::averager::testing {
namespace {

using protocol::Action;
using protocol::Area;
using protocol::Arrival;
using protocol::bit;
using protocol::Decision;
using protocol::Joining;
using protocol::Life;
using protocol::LifeWord;
using protocol::Reduction;
using protocol::Verb;
using Break = Shape::Break;

constexpr Token garbage = 0;

Token input_of(std::uint32_t rank, std::uint32_t bucket) {
  return static_cast<Token>(0x4000U | bucket << 4U | rank);
}
Token result_of(protocol::RankMask present, std::uint32_t bucket) {
  return static_cast<Token>(0x8000U | bucket << 4U | present);
}

}  // namespace

World::World(const Shape& shape) : shape_(shape) {
  for (std::uint32_t index = 0; index < shape.ranks; ++index) {
    Rank& rank = ranks_.at(index);
    rank.self = {.rank = index, .ranks = shape.ranks, .slots = shape.slots, .incarnation = 1};
    rank.expected = protocol::all_of(shape.ranks);
    lives_.at(index) = rank.self.life_word();
  }
}

Token& World::data(std::uint32_t rank, std::uint32_t bucket, std::uint32_t chunk) {
  return data_.at(rank).at(bucket % shape_.in_flight).at(chunk);
}

std::uint64_t& World::word(const protocol::Word& where) {
  switch (where.area) {
    case Area::life:
      return lives_.at(where.index);
    case Area::finished:
      return finished_.at(where.index);
    case Area::arrived:
      return arrived_.at(where.index);
    case Area::decided:
      return decided_.at(where.index);
    case Area::chunk:
      return chunks_.at(where.index).at(where.chunk);
    case Area::bell:
      break;
  }
  return bell_;
}

void World::ring() {
  if (shape_.broken != Break::silent) ++bell_;
}

// Waits are for a limited time. Once after each death is enough for progress, and a rank that
// sleeps for ever without a death is a bell that was forgotten.
void World::let_sleepers_wake() {
  for (Rank& rank : ranks_) rank.may_wake = true;
}

bool World::can_act(const Rank& rank) const {
  if (rank.state == Rank::State::ended || rank.state == Rank::State::dead) return false;
  Action action{.verb = Verb::load};
  if (const auto* arrival = std::get_if<Arrival>(&rank.machine)) action = arrival->action();
  if (const auto* reduction = std::get_if<Reduction>(&rank.machine)) action = reduction->action();
  if (const auto* joining = std::get_if<Joining>(&rank.machine)) action = joining->action();
  return action.verb != Verb::sleep || bell_ != action.expected || rank.may_wake;
}

std::vector<World::Step> World::steps() const {
  std::vector<Step> possible;
  for (std::uint32_t index = 0; index < shape_.ranks; ++index) {
    const Rank& rank = ranks_.at(index);
    const bool runs = rank.state != Rank::State::dead && rank.state != Rank::State::ended;
    if (can_act(rank)) possible.push_back({Step::Kind::acts, index});
    if (runs && deaths_ < shape_.deaths) possible.push_back({Step::Kind::dies, index});
    if (rank.state != Rank::State::dead) continue;
    if (protocol::is_live(lives_.at(index)))
      possible.push_back({Step::Kind::is_noticed, index});
    else if (restarts_ < shape_.restarts)
      possible.push_back({Step::Kind::restarts, index});
  }
  return possible;
}

bool World::all_ended() const {
  for (std::uint32_t index = 0; index < shape_.ranks; ++index) {
    const auto state = ranks_.at(index).state;
    if (state != Rank::State::ended && state != Rank::State::dead) return false;
  }
  return true;
}

std::optional<std::string> World::take(const Step& step) {
  Rank& rank = ranks_.at(step.rank);
  switch (step.kind) {
    case Step::Kind::acts:
      return act(rank);
    case Step::Kind::dies:
      ++deaths_;
      if (shape_.broken == Break::declared_dead) {
        // The others are told, and it runs on.
        lives_.at(step.rank) = to_word(LifeWord{rank.self.incarnation, Life::dead});
        ++bell_;
      } else {
        rank.state = Rank::State::dead;
        rank.machine = std::monostate();
      }
      let_sleepers_wake();
      return std::nullopt;
    case Step::Kind::is_noticed:
      lives_.at(step.rank) = to_word(LifeWord{rank.self.incarnation, Life::dead});
      ++bell_;
      let_sleepers_wake();
      return std::nullopt;
    case Step::Kind::restarts:
      ++restarts_;
      ++rank.self.incarnation;
      rank.part = 0;
      rank.state = Rank::State::joins;
      rank.machine = Joining(rank.self);
      return std::nullopt;
  }
  return std::nullopt;
}

// What the rank does when no machine runs: starts as many buckets as may be in flight, waits for
// the oldest, and so on; then it leaves.
void World::take_up(Rank& rank) {
  const bool can_start =
      rank.started < shape_.buckets && rank.started - rank.finished < shape_.in_flight;
  if (can_start) {
    for (std::uint32_t chunk = 0; chunk < shape_.chunks; ++chunk)
      data(rank.self.rank, rank.started, chunk) = input_of(rank.self.rank, rank.started);
    rank.machine = Arrival(rank.self, rank.started);
    rank.state = Rank::State::arrives;
  } else if (rank.finished < rank.started) {
    const bool admits = rank.finished % shape_.admits_every == 0;
    rank.machine = Reduction(rank.self, rank.finished, rank.expected, admits);
    rank.state = Rank::State::reduces;
  } else {
    rank.state = Rank::State::leaves;
  }
}

std::optional<std::string> World::act(Rank& rank) {
  switch (rank.state) {
    case Rank::State::starts:
      take_up(rank);
      return std::nullopt;
    case Rank::State::leaves:
      lives_.at(rank.self.rank) = to_word(LifeWord{rank.self.incarnation, Life::left});
      rank.state = Rank::State::rings;
      return std::nullopt;
    case Rank::State::rings:
      ring();
      rank.state = Rank::State::ended;
      return std::nullopt;
    default:
      break;
  }
  return std::visit(
      [&](auto& machine) -> std::optional<std::string> {
        if constexpr (std::is_same_v<std::decay_t<decltype(machine)>, std::monostate>) {
          return "no machine";
        } else {
          return run(rank, machine.action());
        }
      },
      rank.machine);
}

std::optional<std::string> World::run(Rank& rank, const Action& action) {
  std::uint64_t result = 0;
  switch (action.verb) {
    case Verb::load:
      result = word(action.word);
      break;
    case Verb::store:
      word(action.word) = action.value;
      break;
    case Verb::exchange:
      result = word(action.word);
      if (result == action.expected) word(action.word) = action.value;
      break;
    case Verb::ring:
      ring();
      break;
    case Verb::sleep:
      if (bell_ == action.expected) rank.may_wake = false;
      break;
    case Verb::publish:
      described_.at(rank.self.rank).at(rank.self.slot(rank.started)) = rank.started + 1;
      break;
    case Verb::compare: {
      const auto chunks = compare(rank, action);
      if (!chunks) return "the description of an input is not that of this bucket";
      result = *chunks;
      break;
    }
    case Verb::sum:
      if (!sum(rank, action)) return std::nullopt;
      break;
    case Verb::push:
      if (!push(rank, action)) return std::nullopt;
      break;
    case Verb::collect:
      break;
    case Verb::finished:
      return machine_finished(rank);
  }
  std::visit(
      [&](auto& machine) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(machine)>, std::monostate>)
          machine.took(result);
      },
      rank.machine);
  return std::nullopt;
}

std::optional<std::uint64_t> World::compare(const Rank& rank, const Action& action) const {
  for (std::uint32_t other = 0; other < shape_.ranks; ++other)
    if ((action.mask & bit(other)) != 0 &&
        described_.at(other).at(rank.self.slot(rank.finished)) != rank.finished + 1)
      return std::nullopt;
  return shape_.chunks;
}

// Returns whether it is finished.
bool World::sum(Rank& rank, const Action& action) {
  Token& into = shape_.broken == Break::no_scratch
                    ? data(rank.self.rank, rank.finished, action.chunk)
                    : scratch_.at(rank.self.rank);
  bool right = true;
  for (std::uint32_t other = 0; other < shape_.ranks; ++other)
    if ((action.mask & bit(other)) != 0)
      right &= data(other, rank.finished, action.chunk) == input_of(other, rank.finished);
  if (rank.part == 0) {
    rank.part = 1;
    rank.sums_right = right;
    into = garbage;
    return false;
  }
  rank.part = 0;
  const bool in_place = shape_.broken == Break::no_scratch;
  into = rank.sums_right && (right || in_place) ? result_of(action.mask, rank.finished) : garbage;
  if (in_place) scratch_.at(rank.self.rank) = into;
  return true;
}

bool World::push(Rank& rank, const Action& action) {
  // Two parts for each rank: garbage, then the result.
  std::uint32_t target = rank.part / 2U;
  while (target < shape_.ranks && (action.mask & bit(target)) == 0) {
    ++target;
    rank.part = static_cast<std::uint8_t>(2 * target);
  }
  if (target >= shape_.ranks) {
    rank.part = 0;
    return true;
  }
  const bool writes = rank.part % 2 == 1;
  data(target, rank.finished, action.chunk) = writes ? scratch_.at(action.scratch) : garbage;
  ++rank.part;
  return shape_.broken == Break::done_before_push ? (rank.part = 0, true) : false;
}

std::optional<std::string> World::check_result(const Rank& rank, const Decision& decision) {
  for (std::uint32_t chunk = 0; chunk < shape_.chunks; ++chunk)
    if (data(rank.self.rank, rank.finished, chunk) != result_of(decision.present, rank.finished))
      return fmt::format("rank {} has a wrong result in chunk {} of bucket {}", rank.self.rank,
                         chunk, rank.finished);
  for (std::uint32_t other = 0; other < shape_.ranks; ++other) {
    const bool missing = (rank.expected & ~decision.present & bit(other)) != 0;
    if (missing && deaths_ == 0)
      return fmt::format("bucket {} was finished without rank {}", rank.finished, other);
  }
  return std::nullopt;
}

std::optional<std::string> World::machine_finished(Rank& rank) {
  if (const auto* arrival = std::get_if<Arrival>(&rank.machine)) {
    if (arrival->is_expelled()) return fmt::format("rank {} was expelled", rank.self.rank);
    ++rank.started;
  } else if (const auto* reduction = std::get_if<Reduction>(&rank.machine)) {
    if (reduction->is_expelled()) return fmt::format("rank {} was expelled", rank.self.rank);
    if (auto wrong = check_result(rank, reduction->decision())) return wrong;
    rank.expected = reduction->decision().next;
    ++rank.finished;
  } else if (const auto* joining = std::get_if<Joining>(&rank.machine)) {
    if (joining->is_alone()) {
      rank.state = Rank::State::ended;
      rank.machine = std::monostate();
      return std::nullopt;
    }
    rank.expected = joining->admitted_by().next;
    rank.started = rank.finished = joining->admitted_by().bucket + 1;
  }
  rank.machine = std::monostate();
  rank.state = Rank::State::starts;
  return std::nullopt;
}

std::uint64_t World::fingerprint() const {
  protocol::Fingerprint print{.bell = bell_};
  const auto add_words = [&](const auto& words) {
    for (const auto one : words) print.add(std::uint64_t{one});
  };
  add_words(lives_);
  add_words(finished_);
  add_words(arrived_);
  add_words(decided_);
  for (const auto& slot : chunks_) add_words(slot);
  for (const auto& rank : data_)
    for (const auto& bucket : rank) add_words(bucket);
  for (const auto& rank : described_) add_words(rank);
  add_words(scratch_);
  print.add_all(deaths_, restarts_);
  for (const Rank& rank : ranks_) {
    print.add_all(rank.state, rank.started, rank.finished, rank.expected, rank.part,
                  rank.part != 0 && rank.sums_right, rank.may_wake);
    std::visit(
        [&](const auto& machine) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(machine)>, std::monostate>)
            print.add(machine);
        },
        rank.machine);
  }
  return print.value;
}

std::string World::describe(const Step& step) const {
  constexpr std::array kinds = {"acts", "dies", "is noticed", "restarts"};
  constexpr std::array verbs = {"load",    "store", "exchange", "ring",    "sleep",   "publish",
                                "compare", "sum",   "push",     "collect", "finished"};
  std::string text =
      fmt::format("rank {} {}", step.rank, kinds.at(static_cast<std::size_t>(step.kind)));
  std::visit(
      [&](const auto& machine) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(machine)>, std::monostate>) {
          const Action action = machine.action();
          text += fmt::format(": {} area {} index {} chunk {}",
                              verbs.at(static_cast<std::size_t>(action.verb)),
                              static_cast<int>(action.word.area), action.word.index, action.chunk);
        }
      },
      ranks_.at(step.rank).machine);
  return text;
}

}  // namespace headroom::averager::testing
