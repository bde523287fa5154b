// SPDX-License-Identifier: Apache-2.0
// Whether the other ranks are alive: each counts up a number in the store that rank 0 keeps, once
// a second, and looks at those of the others. c10d's Gloo notices a process that ends, but not a
// machine that is cut off or a process that is stopped: TCP waits for those without end.
//
// A thread of its own. It may be waiting for the store forever when the rank ends, and is left
// behind then.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "trainer/ranks/c10d_store.h"

namespace headroom::trainer {

class Pulse {
 public:
  // `store`: a connection that nobody else uses. `silent`: after which a rank counts as lost.
  Pulse(StorePtr store, std::uint32_t rank, std::uint32_t ranks, std::chrono::seconds silent);
  ~Pulse();
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;

  // "rank 2 has given no sign of life for 30 s", if there is such a rank. Any thread.
  std::optional<std::string> lost() const;

  // Says that this rank has done all that it does with others. Rank 0, whose store the others still
  // look at, waits until all of them have said so, or for some seconds.
  void leave();

 private:
  struct State;
  static void beat(const std::shared_ptr<State>& state);
  std::shared_ptr<State> state_;
};

}  // namespace headroom::trainer
