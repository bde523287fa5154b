// SPDX-License-Identifier: Apache-2.0
#include "facts/facts.h"

namespace headroom::facts {
namespace {

// What is in use and no holder accounts for. On an APU carve-out and GTT are one memory to its
// users.
Fact<Bytes> find_unattributed(const Gpu& gpu, bool with_gtt) {
  if (!gpu.vram_used) return gpu.vram_used.absent<Bytes>();
  if (with_gtt && !gpu.gtt_used) return gpu.gtt_used.absent<Bytes>();
  Bytes used = *gpu.vram_used;
  if (with_gtt) used += *gpu.gtt_used;
  Bytes held;
  for (const Holder& holder : gpu.holders) {
    if (holder.vram) held += *holder.vram;
    if (with_gtt && holder.gtt) held += *holder.gtt;
  }
  return {saturating_sub(used, held), Source{"computed", 0, "in use - sum of holders"}};
}

}  // namespace

void complete_gpus(Facts& facts, const Processes& processes, const knowledge::GpuTables& tables) {
  const bool in_container = facts.machine.in_container();
  facts.holders_complete = processes.complete && !in_container;
  facts.kfd_processes = processes.kfd;
  for (Gpu& gpu : facts.gpus) {
    gpu.integrated = infer_integrated(gpu, facts.machine.kernel, tables);
    gpu.ladder = make_ladder(gpu, facts.machine);
    const bool pool_in_gtt = gpu.ladder.route && *gpu.ladder.route == Route::gtt;
    gpu.holders = find_holders(gpu, processes, pool_in_gtt, in_container);
    gpu.unattributed = find_unattributed(gpu, gpu.integrated && *gpu.integrated);
  }
}

}  // namespace headroom::facts
