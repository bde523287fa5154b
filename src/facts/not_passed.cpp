// SPDX-License-Identifier: Apache-2.0
#include "facts/not_passed.h"

#include <algorithm>

namespace headroom::facts {
namespace {

bool is_given(const Gpu& gpu) {
  return gpu.kfd_id && gpu.render_node && *gpu.render_node;
}

bool lacks_both(const Gpu& gpu) {
  return !gpu.kfd_id && gpu.render_node && !*gpu.render_node;
}

}  // namespace

void mark_not_passed(Facts& facts) {
  const bool looked_from_inside = facts.machine.in_container() && facts.machine.dev_visible;
  const bool any_given = std::any_of(facts.gpus.begin(), facts.gpus.end(), is_given);
  if (!looked_from_inside || !any_given) return;
  for (Gpu& gpu : facts.gpus) {
    if (!lacks_both(gpu) || gpu.kfd_id.missing().why == Why::no_permission) continue;
    // Each node that could not be read is one of these GPUs' and no GPU more.
    if (facts.kfd_nodes_unread > 0) --facts.kfd_nodes_unread;
    ++facts.kfd_nodes_withheld;
    const Missing why{Why::no_permission, "not passed to this container"};
    gpu.kfd_id = {why, gpu.kfd_id.source()};
    gpu.unique_id = gpu.kfd_node = gpu.kfd_id;
    gpu.pool = gpu.kfd_id.absent<Bytes>();
    gpu.kfd_free = gpu.kfd_id.absent<Bytes>();
  }
}

}  // namespace headroom::facts
