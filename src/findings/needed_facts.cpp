// SPDX-License-Identifier: Apache-2.0
#include "findings/needed_facts.h"

#include "findings/memory_use.h"

namespace headroom::findings {
namespace {

bool could_not_be_read(facts::Why why) {
  switch (why) {
    case facts::Why::not_present:
    case facts::Why::no_permission:
    case facts::Why::unreadable:
    case facts::Why::not_understood:
      return true;
    default:
      return false;
  }
}

class Needed {
 public:
  template <class T>
  void add(const facts::Fact<T>& fact, const char* what) {
    if (first_ || fact || !could_not_be_read(fact.missing().why)) return;
    first_ = show(fact, what);
  }

  std::optional<Evidence> first() && { return std::move(first_); }

 private:
  std::optional<Evidence> first_;
};

}  // namespace

std::optional<Evidence> find_needed_missing(const facts::Facts& facts, const facts::Gpu& gpu) {
  Needed needed;
  // If every node could be read, a missing one is an answer: the compute driver left the GPU out.
  if (facts.kfd_nodes_unread > 0 || gpu.kfd_node) {
    needed.add(gpu.kfd_id, "the compute driver's node");
  }
  if (gpu.kfd_id) needed.add(gpu.pool, "what it offers to hipMalloc");
  needed.add(gpu.device, "which chip it is");
  needed.add(facts.machine.kernel, "the kernel's version");
  needed.add(gpu.vram_total, "its memory");
  if (!gpu.integrated || *gpu.integrated) {
    needed.add(facts.machine.memory.total, "the RAM");
    needed.add(gpu.gtt_total, "GTT");
  }
  if (on_gtt(gpu)) {
    needed.add(facts.machine.pages_limit, "TTM's limit");
    needed.add(gpu.gtt_used, "GTT in use");
  } else {
    needed.add(gpu.vram_used, "what of its memory is in use");
  }
  return std::move(needed).first();
}

}  // namespace headroom::findings
