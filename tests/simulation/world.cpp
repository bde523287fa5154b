// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "simulation/simulated_kernel.h"

namespace headroom::testing {
namespace {

using Random = std::mt19937_64;

std::uint64_t below(Random& random, std::uint64_t limit) {
  return std::uniform_int_distribution<std::uint64_t>(0, limit - 1)(random);
}

bool once_in(Random& random, std::uint64_t times) {
  return below(random, times) == 0;
}

SimulatedProcess make_process(Random& random, std::uint64_t pid, Bytes most) {
  static const std::vector<std::string> commands{"python3", "ollama",      "llama-server",
                                                 "sshd",    "gnome-shell", "exporter"};
  SimulatedProcess process;
  process.pid = pid;
  process.start_ticks = 1000 + below(random, 100000);
  process.command = commands[once_in(random, 3) ? below(random, commands.size()) : 0];
  process.uid = once_in(random, 3) ? 0 : 1000;
  process.holds = Bytes{(below(random, most.value / (64_MiB).value) + 1) * (64_MiB).value};
  if (process.command == "exporter" || once_in(random, 8)) process.holds = Bytes{};
  process.reaction = static_cast<Reaction>(once_in(random, 2) ? 0 : below(random, 3));
  process.ends_after_ms = below(random, 4000);
  process.freed_after_ms = once_in(random, 4) ? below(random, 60'000) : below(random, 3000);
  process.never_freed = once_in(random, 8);
  process.left_behind = once_in(random, 8);
  if (once_in(random, 3)) process.unit = fmt::format("job{}.service", below(random, 2));
  if (process.unit.empty() && once_in(random, 4)) process.container = "0123456789ab";
  process.restarted = !process.unit.empty() && once_in(random, 2);
  if (once_in(random, 8)) {
    process.alive = false;
    process.client = false;
    if (once_in(random, 2)) process.freed_at = below(random, 60'000);
  }
  return process;
}

facts::Holder make_holder(const SimulatedProcess& process, const World& world) {
  facts::Holder holder;
  holder.pid = process.pid;
  holder.vram = process.holds;
  holder.in_kfd = true;
  holder.visible = process.alive && !world.container;
  if (!holder.visible) {
    holder.whereabouts =
        world.container || world.hidden ? facts::Whereabouts::outside : facts::Whereabouts::gone;
    return holder;
  }
  holder.command = process.command;
  holder.unit = process.unit;
  holder.engine = process.container.empty() ? "" : "docker";
  holder.container = process.container;
  return holder;
}

}  // namespace

World make_world(std::uint64_t seed) {
  Random random(seed);
  World world;
  const std::uint64_t count = below(random, 6) + (once_in(random, 10) ? 0 : 1);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Bytes most{(world.capacity - world.own).value / count};
    world.processes.push_back(make_process(random, 100 + i * 7, most));
  }
  if (once_in(random, 4)) world.pool = 300_MiB;
  world.integrated = once_in(random, 5);
  world.container = once_in(random, 8);
  world.root = !once_in(random, 4);
  world.hidden = !world.root && once_in(random, 2);
  world.write = static_cast<Answer>(once_in(random, 3) ? below(random, 4) : 0);
  world.run = static_cast<Answer>(once_in(random, 3) ? below(random, 4) : 0);
  world.reset = static_cast<Answer>(once_in(random, 3) ? below(random, 4) : 0);
  world.measuring_fails = once_in(random, 10);
  world.number_taken_early = once_in(random, 6);
  return world;
}

facts::Facts facts_of(const World& world) {
  facts::Facts facts;
  facts::Gpu gpu;
  gpu.pci = simulated_gpu;
  gpu.name = "simulated";
  gpu.gfx = {"gfx1100", {}};
  gpu.integrated = {world.integrated, {}};
  gpu.ladder.route = {facts::Route::vram, {}};
  Bytes used = world.own + world.pool;
  for (const SimulatedProcess& process : world.processes) {
    if (!process.listed) continue;
    used += process.holds;
    if (process.holds.value > 0) gpu.holders.push_back(make_holder(process, world));
  }
  gpu.vram_total = {world.capacity, {}};
  gpu.vram_used = {used, {}};
  gpu.gtt_used = {Bytes{}, {}};
  facts::Rung rung;
  rung.name = "vram";
  rung.limit = {world.capacity, {}};
  rung.applies = rung.binding = true;
  gpu.ladder.rungs.push_back(rung);
  gpu.accounting = facts::make_accounting(gpu);
  facts.holders_complete = !world.hidden && !world.container;
  if (world.container) facts.machine.container = {"docker", {}};
  facts.gpus.push_back(gpu);
  return facts;
}

facts::Occupancy occupancy_of(const World& world) {
  facts::Occupancy occupancy;
  occupancy.complete = !world.hidden && !world.container;
  facts::Screens screens;
  screens.pci = simulated_gpu;
  screens.card = 0;
  screens.can_recover = {true, {}};
  occupancy.screens.push_back(screens);
  for (const SimulatedProcess& process : world.processes) {
    if (!process.alive || world.container) continue;
    facts::Occupant occupant;
    occupant.pid = process.pid;
    occupant.command = process.command;
    occupant.uid = process.uid;
    occupant.stat = facts::ProcessStat{};
    occupant.stat->pid = process.pid;
    occupant.stat->state = process.reaction == Reaction::stuck ? 'D' : 'S';
    occupant.stat->start_ticks = process.start_ticks;
    occupant.membership.unit = process.unit;
    occupant.membership.container = process.container;
    occupant.left_behind = process.left_behind;
    if (process.client) occupant.gpus = {simulated_gpu};
    occupancy.occupants.push_back(occupant);
  }
  return occupancy;
}

}  // namespace headroom::testing
