// SPDX-License-Identifier: Apache-2.0
// ttm-pool-large: TTM keeps pages after they were freed, to hand them out again (ttm_pool.c,
// page_pool_size). They are neither in use nor free, and easy to get back.
#include <fmt/format.h>

#include "findings/memory_use.h"
#include "findings/rules.h"

namespace headroom::findings {
namespace {

constexpr double noticeable = 0.1;

std::vector<Finding> find(const Subject& subject) {
  const facts::Meminfo& memory = subject.facts.machine.memory;
  const bool large = memory.total && memory.gpu_reclaim && *memory.gpu_reclaim >= 1_GiB &&
                     share(*memory.gpu_reclaim, *memory.total) >= noticeable;
  if (!large || subject.facts.gpus.empty()) return {};
  Finding finding;
  finding.id = "ttm-pool-large";
  finding.title =
      fmt::format("TTM's pool keeps {} of RAM that no GPU uses", to_string(*memory.gpu_reclaim));
  finding.reasons = {
      "The kernel gives it back by itself when memory runs short. It explains RAM that no process "
      "uses and no GPU accounts for."};
  finding.evidence = {show(memory.gpu_reclaim, "freed by GPUs and kept")};
  finding.fix = {
      command("echo 2 | sudo tee /proc/sys/vm/drop_caches", "(harmless: the caches fill again)")};
  finding.next = NextCommand::reclaim();
  return {finding};
}

}  // namespace

constinit const Rule ttm_pool_rule = {
    .id = "ttm-pool-large",
    .meaning = "The kernel's pool of freed GPU pages holds much of the RAM.",
    .why =
        "Nobody uses these pages, and they are not counted as free, so they look like a leak. They "
        "come back under memory pressure, but sometimes too late for a large allocation.",
    .fix = "Empty the pool with drop_caches.",
    .find = find,
};

}  // namespace headroom::findings
