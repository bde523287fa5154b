// SPDX-License-Identifier: Apache-2.0
#include "allocator/backends/host_verdict.h"

#include "allocator/backends/self_test_cache_file.h"
#include "allocator/backends/virtual_memory_verdict.h"
#include "base/text.h"
#include "machine/user_files.h"

namespace headroom::allocator {

std::string running_kernel() {
  const auto text = machine::read_file("/proc/sys/kernel/osrelease");
  return text ? std::string(trim(*text)) : "";
}

std::optional<std::string> find_host_refusal(const SelfTestCache& results,
                                             const std::string& kernel) {
  const VirtualMemoryVerdict verdict = virtual_memory_verdict(host_key(kernel), results, {});
  if (verdict.use == VirtualMemoryVerdict::Use::no) return verdict.why;
  return std::nullopt;
}

std::optional<std::string> find_host_refusal() {
  const auto results = read_self_test_cache(self_test_path_of_caller());
  if (!results) return std::nullopt;
  return find_host_refusal(*results, running_kernel());
}

}  // namespace headroom::allocator
