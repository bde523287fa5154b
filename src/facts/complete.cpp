// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "facts/facts.h"

namespace headroom::facts {
namespace {

// KFD names GPUs by their ids. Memory under an id that no GPU here has may be any GPU's whose own
// id could not be read.
bool has_unclaimed(const Facts& facts, const Processes& processes) {
  const auto is_known = [&](std::uint64_t id) {
    return std::any_of(facts.gpus.begin(), facts.gpus.end(),
                       [&](const Gpu& gpu) { return gpu.kfd_id && *gpu.kfd_id == id; });
  };
  for (const KfdProcess& process : processes.kfd) {
    for (const auto& [id, used] : process.vram) {
      const bool is_some = !used || used->value > 0;
      if (is_some && !is_known(id)) return true;
    }
  }
  return false;
}

// What is in use stays known; whose it is does not.
void forget_shares(const Gpu& gpu, Accounting& account) {
  for (Fact<Bytes>* share : {&account.here, &account.outside, &account.gone, &account.baseline,
                             &account.unattributed, &account.beyond}) {
    *share = gpu.kfd_id.absent<Bytes>();
  }
}

}  // namespace

void complete_gpus(Facts& facts, const Processes& processes, const knowledge::GpuTables& tables) {
  const bool in_container = facts.machine.in_container();
  facts.holders_complete = processes.complete && !in_container;
  facts.kfd_processes = processes.kfd;
  const bool unclaimed = has_unclaimed(facts, processes);
  for (Gpu& gpu : facts.gpus) {
    gpu.integrated = infer_integrated(gpu, facts.machine.kernel, tables);
    gpu.ladder = make_ladder(gpu, facts.machine);
    const bool pool_in_gtt = gpu.ladder.route && *gpu.ladder.route == Route::gtt;
    gpu.holders = find_holders(gpu, processes, pool_in_gtt, in_container);
    gpu.accounting = make_accounting(gpu);
    if (unclaimed && !gpu.kfd_id) forget_shares(gpu, gpu.accounting);
  }
}

}  // namespace headroom::facts
