// SPDX-License-Identifier: Apache-2.0
// libtorch's CPU memory, taken from an allocator::Policy: every tensor of the process is a block of
// the policy, tagged with the component that the training code is working on at that moment.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <ATen/core/Tensor.h>

#include "allocator/component.h"
#include "allocator/policy.h"

namespace headroom::trainer {

// The request that the policy refused, and what was live at that moment.
struct RefusedRequest {
  std::uint64_t bytes = 0;
  allocator::Component tag = allocator::Component::other;
  allocator::Usage usage;
};

// While it exists, libtorch's allocator for DeviceType::CPU is this one; the one before comes back
// afterwards. Requires: only one exists at a time; `policy` hands out addresses that the CPU can
// use and outlives every tensor made meanwhile. Tensors may be freed from any thread.
class TorchMemory {
 public:
  explicit TorchMemory(allocator::Policy& policy);
  ~TorchMemory();
  TorchMemory(const TorchMemory&) = delete;
  TorchMemory& operator=(const TorchMemory&) = delete;

  allocator::Usage usage() const;
  allocator::ByComponent peak_by_component() const;  // Each component's own maximum over time.
  std::uint64_t live_blocks() const;

  // A refused request ends in a C++ exception inside libtorch. Whoever catches it finds the reason
  // here; taking it clears it.
  std::optional<RefusedRequest> take_refused();

 private:
  friend class TagScope;
  friend void retag(const at::Tensor& tensor, allocator::Component tag);
  class Hook;
  std::unique_ptr<Hook> hook_;
};

// Tensors allocated while it exists carry this tag. Scopes nest. Without a TorchMemory it does
// nothing, so that the operations can be used on libtorch's own memory.
class TagScope {
 public:
  explicit TagScope(allocator::Component tag);
  ~TagScope();
  TagScope(const TagScope&) = delete;
  TagScope& operator=(const TagScope&) = delete;

 private:
  allocator::Component previous_;
};

// Moves the tensor's storage to another component. No effect on memory that a TorchMemory did not
// hand out.
void retag(const at::Tensor& tensor, allocator::Component tag);

}  // namespace headroom::trainer
