// SPDX-License-Identifier: Apache-2.0
// How much of the memory that it shares with the desktop and the system a command has to leave:
// what its allocators are told, what its supervisor watches, and what the user is told.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "facts/facts.h"
#include "facts/occupancy.h"

namespace headroom::run {

struct GuardChoice {
  bool is_on = false;
  std::optional<Bytes> size;  // Nothing: as much as the machine seems to need.
  bool has_allocator = false;
};

struct CommandGuard {
  std::string variable;         // HEADROOM_ALLOCATOR_GUARD; "off" where nothing is kept.
  std::optional<Bytes> system;  // supervisor::Policy::guard.
  std::vector<std::string> said;
};

// `facts` is nullptr where the machine could not be looked at. With an allocator that refuses
// memory in time the supervisor waits until half of what is to be kept is gone, because what the
// command takes besides, its own heap for instance, is seen by nobody else.
CommandGuard make_guard(const GuardChoice& choice, const facts::Facts* facts,
                        const facts::Occupancy& occupancy);

}  // namespace headroom::run
