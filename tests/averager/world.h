// SPDX-License-Identifier: Apache-2.0
// Ranks that average buckets over a model of shared memory, one action at a time: what the explorer
// walks through. Data are tokens: the input of one rank, the result over some ranks, or garbage
// while it is being written. Summing and pushing are several steps, so a rank can die in them too.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "averager/protocol/arrival.h"
#include "averager/protocol/joining.h"
#include "averager/protocol/reduction.h"

namespace headroom::averager::testing {

struct Shape {
  std::uint32_t ranks = 2;
  std::uint32_t slots = 2;
  std::uint32_t chunks = 2;
  std::uint32_t buckets = 2;    // How many each rank averages, one after the other.
  std::uint32_t in_flight = 1;  // How many it starts before it waits for the first.
  std::uint32_t deaths = 0;
  std::uint32_t restarts = 0;
  std::uint32_t admits_every = 1;  // Every how many buckets ranks that join are admitted.
  // What a broken driver does, to see that the explorer notices.
  enum class Break : std::uint8_t {
    nothing,
    done_before_push,  // The action after `push` is done before it.
    no_scratch,        // Sums straight over the inputs.
    declared_dead,     // Ranks are taken for dead that still run: no fence.
    silent,            // Nobody rings the bell.
  } broken = Break::nothing;
};

constexpr std::uint32_t most_ranks = 3;
constexpr std::uint32_t most_slots = 2;
constexpr std::uint32_t most_chunks = 2;

using Token = std::uint16_t;  // 0 is garbage.

struct Rank {
  enum class State : std::uint8_t { starts, arrives, reduces, leaves, rings, joins, ended, dead };
  State state = State::starts;
  protocol::Self self = {};
  std::uint32_t started = 0;   // Buckets begun to arrive.
  std::uint32_t finished = 0;  // Buckets finished.
  protocol::RankMask expected = 0;
  std::variant<std::monostate, protocol::Arrival, protocol::Reduction, protocol::Joining> machine;
  std::uint8_t part = 0;  // How far a sum or a push is.
  bool sums_right = false;
  bool may_wake = false;  // A wait for a limited time may end without the bell.
};

class World {
 public:
  explicit World(const Shape& shape);

  struct Step {
    enum class Kind : std::uint8_t { acts, dies, is_noticed, restarts } kind = Kind::acts;
    std::uint32_t rank = 0;
  };
  // Every step that is possible now. Nothing but deaths, and not all_ended(), is a hang.
  std::vector<Step> steps() const;
  // Returns what the step broke, if anything.
  std::optional<std::string> take(const Step& step);
  bool all_ended() const;
  // Equal for states that behave the same from now on.
  std::uint64_t fingerprint() const;
  std::string describe(const Step& step) const;

 private:
  std::uint64_t& word(const protocol::Word& where);
  bool can_act(const Rank& rank) const;
  std::optional<std::string> act(Rank& rank);
  std::optional<std::string> run(Rank& rank, const protocol::Action& action);
  std::optional<std::string> machine_finished(Rank& rank);
  std::optional<std::string> check_result(const Rank& rank, const protocol::Decision& decision);
  void take_up(Rank& rank);
  bool sum(Rank& rank, const protocol::Action& action);
  bool push(Rank& rank, const protocol::Action& action);
  std::optional<std::uint64_t> compare(const Rank& rank, const protocol::Action& action) const;
  void ring();
  void let_sleepers_wake();
  Token& data(std::uint32_t rank, std::uint32_t bucket, std::uint32_t chunk);

  Shape shape_;
  std::uint64_t bell_ = 0;
  std::array<std::uint64_t, most_ranks> lives_ = {};
  std::array<std::uint64_t, most_ranks> finished_ = {};
  std::array<std::uint64_t, most_slots> arrived_ = {};
  std::array<std::uint64_t, most_slots> decided_ = {};
  std::array<std::array<std::uint64_t, most_chunks>, most_slots> chunks_ = {};
  std::array<std::array<std::array<Token, most_chunks>, most_slots>, most_ranks> data_ = {};
  std::array<std::array<std::uint32_t, most_slots>, most_ranks> described_ = {};
  std::array<Token, most_ranks> scratch_ = {};
  std::array<Rank, most_ranks> ranks_ = {};
  std::uint32_t deaths_ = 0;
  std::uint32_t restarts_ = 0;
};

}  // namespace headroom::averager::testing
