// SPDX-License-Identifier: Apache-2.0
#include "allocator/models/make_policy.h"

#include <fmt/format.h>

#include <algorithm>

#include "allocator/headroom/headroom_allocator.h"
#include "allocator/models/best_fit_policy.h"
#include "allocator/models/bfc_policy.h"
#include "allocator/models/exact_policy.h"
#include "allocator/models/torch_expandable_policy.h"
#include "allocator/models/torch_policy.h"
#include "allocator/simulated_backend.h"
#include "base/text.h"

namespace headroom::allocator {

const std::vector<std::string>& policy_names() {
  static const std::vector<std::string> names = {
      "headroom", "headroom-no-vmm", "torch", "torch-expandable", "bfc", "best-fit", "exact"};
  return names;
}

Result<std::unique_ptr<Policy>> make_policy(std::string_view name, std::uint64_t capacity_bytes) {
  const std::uint64_t capacity = std::min(capacity_bytes, unlimited_capacity_bytes);
  std::unique_ptr<Policy> policy;
  if (name == "headroom")
    policy = std::make_unique<HeadroomAllocator>(std::make_unique<SimulatedBackend>(), capacity);
  if (name == "headroom-no-vmm")
    policy = std::make_unique<HeadroomAllocator>(
        std::make_unique<SimulatedBackend>(SimulatedBackend::default_page_limit,
                                           SimulatedBackend::without_virtual_memory()),
        capacity, HeadroomAllocator::Options{.virtual_memory = false});
  if (name == "torch") policy = std::make_unique<TorchPolicy>(capacity);
  if (name == "torch-expandable") policy = std::make_unique<TorchExpandablePolicy>(capacity);
  if (name == "bfc") policy = std::make_unique<BfcPolicy>(capacity);
  if (name == "best-fit") policy = std::make_unique<BestFitPolicy>(capacity);
  if (name == "exact") policy = std::make_unique<ExactPolicy>(capacity);
  if (policy == nullptr) {
    const auto meant = nearest(name, policy_names());
    return Error{Errc::not_found,
                 fmt::format("no allocation policy is called \"{}\"; there are {}", name,
                             join(policy_names(), ", ")),
                 meant ? fmt::format("--policy {}", *meant) : "--policy headroom"};
  }
  return policy;
}

}  // namespace headroom::allocator
