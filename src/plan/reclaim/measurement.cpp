// SPDX-License-Identifier: Apache-2.0
#include "plan/reclaim/measurement.h"

#include <fmt/format.h>

#include <algorithm>

#include "findings/memory_use.h"

namespace headroom::plan {
namespace {

Held make_held(const facts::Holder& holder, const facts::Occupancy& occupancy, bool in_gtt) {
  Held held;
  held.pid = holder.pid;
  held.command = holder.command;
  held.user = holder.user;
  held.unit = holder.unit;
  held.engine = holder.engine;
  held.container = holder.container;
  held.job = holder.job;
  held.whereabouts = holder.whereabouts;
  const auto& amount = in_gtt ? holder.gtt : holder.vram;
  held.bytes = amount ? *amount : Bytes{};
  if (holder.whereabouts != facts::Whereabouts::here) return held;
  const facts::Occupant* occupant = occupancy.find(holder.pid);
  if (occupant == nullptr || !occupant->stat) return held;
  held.start_ticks = occupant->stat->start_ticks;
  // It has ended and only its launcher's asking for its exit status is missing.
  if (occupant->stat->ended()) held.whereabouts = facts::Whereabouts::gone;
  return held;
}

Client make_client(const facts::Occupant& occupant) {
  Client client;
  client.pid = occupant.pid;
  client.command = occupant.command;
  client.user = occupant.user;
  if (occupant.stat) client.start_ticks = occupant.stat->start_ticks;
  return client;
}

// Whoever has the compute driver's node open may have every GPU; a client of one is not, unless KFD
// lists it for another as well.
bool has_open(const facts::Occupant& occupant, const facts::Gpu& gpu) {
  const bool client = std::binary_search(occupant.gpus.begin(), occupant.gpus.end(), gpu.pci);
  const bool holder =
      std::any_of(gpu.holders.begin(), gpu.holders.end(),
                  [&](const facts::Holder& one) { return one.visible && one.pid == occupant.pid; });
  return client || holder || (occupant.opens_kfd && occupant.gpus.empty());
}

}  // namespace

std::vector<Client> clients_of(const facts::Occupancy& occupancy, const facts::Gpu& gpu) {
  std::vector<Client> clients;
  for (const facts::Occupant& occupant : occupancy.occupants) {
    const bool ended = occupant.stat && occupant.stat->ended();
    if (!ended && has_open(occupant, gpu)) clients.push_back(make_client(occupant));
  }
  return clients;
}

Bytes Measurement::dead() const {
  Bytes sum;
  for (const Held& held : holders) {
    if (held.whereabouts == facts::Whereabouts::gone) sum += held.bytes;
  }
  return sum;
}

Result<Measurement> measure(const facts::Facts& facts, const facts::Occupancy& occupancy,
                            const std::string& pci) {
  const auto gpu = std::find_if(facts.gpus.begin(), facts.gpus.end(),
                                [&](const facts::Gpu& one) { return one.pci == pci; });
  if (gpu == facts.gpus.end()) {
    return Error{Errc::not_found, fmt::format("there is no AMD GPU at {}", pci), "headroom check"};
  }
  const auto use = findings::memory_use(*gpu);
  if (!use) {
    return Error{Errc::unsupported,
                 fmt::format("the driver does not say how much memory of {} is in use", pci),
                 "headroom check --verbose"};
  }
  Measurement measurement;
  measurement.capacity = use->capacity;
  measurement.used = *use->used;
  measurement.complete = facts.holders_complete && occupancy.complete;
  for (const facts::Holder& holder : gpu->holders) {
    Held held = make_held(holder, occupancy, findings::on_gtt(*gpu));
    if (held.bytes.value > 0) measurement.holders.push_back(std::move(held));
  }
  std::stable_sort(measurement.holders.begin(), measurement.holders.end(),
                   [](const Held& a, const Held& b) { return a.bytes > b.bytes; });
  measurement.clients = clients_of(occupancy, *gpu);
  for (const facts::Occupant& occupant : occupancy.occupants) {
    const bool ended = occupant.stat && occupant.stat->ended();
    if (!ended && !has_open(occupant, *gpu)) measurement.elsewhere.push_back(make_client(occupant));
  }
  const auto& unattributed = gpu->accounting.unattributed;
  if (measurement.complete && unattributed) measurement.unowned = *unattributed;
  return measurement;
}

}  // namespace headroom::plan
