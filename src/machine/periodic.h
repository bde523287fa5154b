// SPDX-License-Identifier: Apache-2.0
// Something that is done again and again beside what else goes on, in a thread of its own: reading
// files of a driver, for instance, which may answer late, or never once its device hangs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace headroom::machine {

// One thread calls. Whoever leaves without stop() stops as with a second of patience.
class Periodic {
 public:
  // Calls `act` at once, even where it is to stop by then, and every `period_ms`, in another
  // thread. `act` owns what it works with: where it does not come back, it outlives this.
  Periodic(std::uint64_t period_ms, std::function<void()> act);
  ~Periodic();
  Periodic(const Periodic&) = delete;
  Periodic& operator=(const Periodic&) = delete;

  // Whether `act` came back within `patience_ms` and will not be called again. Otherwise its thread
  // is left behind, and ends when it comes back.
  bool stop(std::uint64_t patience_ms);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace headroom::machine
