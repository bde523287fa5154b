// SPDX-License-Identifier: Apache-2.0
#include "trainer/ranks/c10d_pulse.h"

#include <fmt/format.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace headroom::trainer {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

std::string pulse_of(std::uint32_t rank) {
  return fmt::format("pulse/{}", rank);
}

std::string departure_of(std::uint32_t rank) {
  return fmt::format("left/{}", rank);
}

}  // namespace

struct Pulse::State {
  StorePtr store;
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  std::chrono::seconds silent;
  std::atomic<bool> leaves = false;  // The thread is to say so and end.
  std::atomic<bool> ended = false;

  struct Peer {
    std::int64_t count = 0;
    Clock::time_point seen;
  };
  mutable Mutex mutex;
  // As of the thread's last look; one that waits for the store does not look any more.
  std::vector<Peer> peers HEADROOM_GUARDED_BY(mutex);
  Clock::time_point looked HEADROOM_GUARDED_BY(mutex);
};

Pulse::Pulse(StorePtr store, std::uint32_t rank, std::uint32_t ranks, std::chrono::seconds silent)
    : state_(std::make_shared<State>()) {
  state_->store = std::move(store);
  state_->rank = rank;
  state_->ranks = ranks;
  state_->silent = silent;
  {
    const MutexLock lock(state_->mutex);
    state_->looked = Clock::now();
    state_->peers.assign(ranks, {.count = 0, .seen = state_->looked});
  }
  std::thread([state = state_] {
    try {
      beat(state);
    } catch (const std::exception&) {
      // The store is gone: nobody is seen any more, which lost() tells in its time. Where the
      // others have left, nobody asks.
    }
    state->ended = true;
  }).detach();
}

Pulse::~Pulse() {
  state_->leaves = true;
}

void Pulse::beat(const std::shared_ptr<State>& state) {
  constexpr auto interval = 1s;
  constexpr auto look = 20ms;
  const auto is_other = [&](std::uint32_t rank) { return rank != state->rank; };
  while (!state->leaves) {
    state->store->add(pulse_of(state->rank), 1);
    for (std::uint32_t rank = 0; rank < state->ranks; ++rank) {
      if (!is_other(rank)) continue;
      const std::int64_t count = state->store->add(pulse_of(rank), 0);
      const MutexLock lock(state->mutex);
      state->looked = Clock::now();
      State::Peer& peer = state->peers.at(rank);
      if (count != peer.count) peer = {.count = count, .seen = state->looked};
    }
    for (auto slept = 0ms; slept < interval && !state->leaves; slept += look)
      std::this_thread::sleep_for(look);
  }
  state->store->add(departure_of(state->rank), 1);
  constexpr auto longest = 5s;
  const auto until = Clock::now() + longest;
  for (std::uint32_t rank = 0; state->rank == 0 && rank < state->ranks; ++rank) {
    while (state->store->add(departure_of(rank), 0) == 0 && Clock::now() < until)
      std::this_thread::sleep_for(look);
  }
}

std::optional<std::string> Pulse::lost() const {
  const auto now = Clock::now();
  const MutexLock lock(state_->mutex);
  if (now - state_->looked > state_->silent)
    return fmt::format("rank 0, which keeps the ranks' meeting place, was not reached for {} s",
                       state_->silent.count());
  for (std::uint32_t rank = 0; rank < state_->ranks; ++rank) {
    if (rank != state_->rank && now - state_->peers[rank].seen > state_->silent)
      return fmt::format("rank {} has given no sign of life for {} s", rank,
                         state_->silent.count());
  }
  return std::nullopt;
}

void Pulse::leave() {
  constexpr auto look = 20ms;
  constexpr auto longest = 6s;
  state_->leaves = true;
  for (auto waited = 0ms; !state_->ended && waited < longest; waited += look)
    std::this_thread::sleep_for(look);
}

}  // namespace headroom::trainer
