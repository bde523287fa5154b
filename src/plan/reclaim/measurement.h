// SPDX-License-Identifier: Apache-2.0
// How one GPU's memory stands at one moment: how much is in use, who holds it, who has the GPU
// open. Taken before the first rung and after each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "facts/facts.h"
#include "facts/occupancy.h"

namespace headroom::plan {

// One process's share of the memory that jobs use: VRAM or, where hipMalloc takes system memory,
// GTT.
struct Held {
  std::uint64_t pid = 0;
  std::optional<std::uint64_t> start_ticks;  // Tells it from a later process of the same PID.
  std::string command, user, unit, engine, container, job;
  facts::Whereabouts whereabouts = facts::Whereabouts::here;
  Bytes bytes;
};

// A process that has this GPU, or the compute driver's node, open.
struct Client {
  std::uint64_t pid = 0;
  std::optional<std::uint64_t> start_ticks;
  std::string command, user;
};

struct Measurement {
  Bytes capacity;                 // Of what binds.
  Bytes used;                     // As the driver counts.
  std::vector<Held> holders;      // Largest first; those that hold nothing are left out.
  std::vector<Client> clients;    // Of this GPU; by PID.
  std::vector<Client> elsewhere;  // Of the other GPUs of the same driver, and not of this one.
  // In use and held by nobody, living or dead, beyond what a driver keeps for itself; nothing where
  // somebody could be out of sight.
  std::optional<Bytes> unowned;
  bool complete = false;  // Every process could be looked into.

  Bytes free() const { return saturating_sub(capacity, used); }
  Bytes dead() const;  // Held by processes that are gone.
};

// The living processes that have this GPU open, by PID.
std::vector<Client> clients_of(const facts::Occupancy& occupancy, const facts::Gpu& gpu);

// Fails with not_found where there is no such GPU, with unsupported where the driver does not say
// how much is in use.
Result<Measurement> measure(const facts::Facts& facts, const facts::Occupancy& occupancy,
                            const std::string& pci);

}  // namespace headroom::plan
