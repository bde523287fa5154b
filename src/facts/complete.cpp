// SPDX-License-Identifier: Apache-2.0
#include "facts/facts.h"

namespace headroom::facts {
void complete_gpus(Facts& facts, const Processes& processes, const knowledge::GpuTables& tables) {
  const bool in_container = facts.machine.in_container();
  facts.holders_complete = processes.complete && !in_container;
  facts.kfd_processes = processes.kfd;
  for (Gpu& gpu : facts.gpus) {
    gpu.integrated = infer_integrated(gpu, facts.machine.kernel, tables);
    gpu.ladder = make_ladder(gpu, facts.machine);
    const bool pool_in_gtt = gpu.ladder.route && *gpu.ladder.route == Route::gtt;
    gpu.holders = find_holders(gpu, processes, pool_in_gtt, in_container);
    gpu.accounting = make_accounting(gpu);
  }
}

}  // namespace headroom::facts
