// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "findings/scene_parts.h"
#include "findings/scene_text.h"

namespace headroom::findings {
namespace {

using logs::Observation;

// Pools smaller than this are a GPU's on-chip memories.
constexpr Bytes smallest_pool{std::uint64_t{16} << 20};

struct Agent {
  std::string gfx;  // Empty for a CPU, or if it is not told.
  bool is_cpu = false;
};

void take_pool(Scene& scene, const Agent& agent, const Observation& seen) {
  const auto kib = parse_u64(seen.value("kib"));
  if (!kib) return;
  const Bytes size{*kib << 10U};
  if (size < smallest_pool) return;
  const facts::Fact<Bytes> pool(size, source_of(seen));
  if (agent.is_cpu) {
    if (!scene.ram || *scene.ram < size) scene.ram = pool;
    return;
  }
  for (SceneGpu& gpu : scene.gpus) {
    const bool its = agent.gfx.empty() ? scene.gpus.size() == 1 : gpu.gfx == agent.gfx;
    if (its && (!gpu.pool || *gpu.pool < size)) gpu.pool = pool;
  }
}

}  // namespace

void add_agents(Scene& scene, const logs::Observations& log, const knowledge::GpuTables& tables) {
  Agent agent;
  const bool ram_known = scene.ram.known();
  for (const Observation& seen : log.all()) {
    if (seen.id() == "agent-name") {
      agent = {std::string(seen.value("gfx")), false};
    } else if (seen.id() == "agent-cpu") {
      agent = {"", true};
      if (!scene.cpu) scene.cpu = {std::string(trim(seen.value("agent"))), source_of(seen)};
    } else if (seen.id() == "agent-marketing-name" && !agent.gfx.empty()) {
      const auto gpu = std::find_if(scene.gpus.begin(), scene.gpus.end(),
                                    [&](const SceneGpu& one) { return one.gfx == agent.gfx; });
      const knowledge::Target* target = tables.target(agent.gfx);
      const bool unnamed = gpu != scene.gpus.end() &&
                           (gpu->name.empty() || (target != nullptr && gpu->name == target->chip));
      if (unnamed) gpu->name = trim(seen.value("agent"));
    } else if (seen.id() == "agent-type") {
      if (seen.value("type") == "CPU") agent = {"", true};
    } else if (seen.id() == "agent-pool" && !(agent.is_cpu && ram_known)) {
      take_pool(scene, agent, seen);
    }
  }
}

}  // namespace headroom::findings
