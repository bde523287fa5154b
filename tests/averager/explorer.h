// SPDX-License-Identifier: Apache-2.0
// Walks through every order in which ranks can act, with deaths at every point, as far as a shape
// allows: each state once. What it finds is a path that ends in a broken promise or in a hang.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "averager/world.h"

namespace headroom::averager::testing {

struct Explored {
  std::uint64_t states = 0;
  std::uint64_t ends = 0;             // States in which all had ended.
  std::optional<std::string> broken;  // What was broken, and the way to it.
};

// Stops at the first broken promise, and says so if there are more than `most_states`.
Explored explore(const Shape& shape, std::uint64_t most_states);

}  // namespace headroom::averager::testing
