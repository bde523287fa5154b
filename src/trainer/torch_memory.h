// SPDX-License-Identifier: Apache-2.0
// libtorch's memory, of the processor or of a GPU, taken from an allocator::Policy: every tensor
// there is a block of the policy, tagged with the component that the training code is working on at
// that moment.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "allocator/component.h"
#include "allocator/forensics/out_of_memory.h"
#include "allocator/policy.h"
#include "base/result.h"

namespace headroom::trainer {

// Says why the policy refuses a request. Asked right then, under TorchMemory's lock.
using ExplainRefusal = std::function<allocator::OutOfMemory(const allocator::Request&)>;

// While it exists, libtorch's allocator for DeviceType::CPU is this one; the one before comes back
// afterwards. Requires: only one exists at a time; `policy` hands out addresses that the CPU can
// use; every tensor made meanwhile dies before. Tensors may be freed from any thread.
class TorchMemory {
 public:
  // Without `explain`, a refusal says what the policy's usage() tells.
  explicit TorchMemory(allocator::Policy& policy, ExplainRefusal explain = {});
  // The same of the GPU: `policy` hands out addresses there. Once in a process; fails where
  // libtorch's allocator of the GPU cannot be replaced.
  static Result<std::unique_ptr<TorchMemory>> on_gpu(allocator::Policy& policy,
                                                     ExplainRefusal explain = {});
  ~TorchMemory();
  TorchMemory(const TorchMemory&) = delete;
  TorchMemory& operator=(const TorchMemory&) = delete;

  allocator::Usage usage() const;
  allocator::ByComponent peak_by_component() const;  // Each component's own maximum over time.
  std::uint64_t live_blocks() const;
  // By component, what was live when most was, since the last call or the beginning.
  allocator::ByComponent take_peak();

  // A refused request ends in a C++ exception inside libtorch. Whoever catches it finds the reason
  // here; taking it clears it.
  std::optional<allocator::OutOfMemory> take_refused();

 private:
  friend class TagScope;
  class Hook;
  explicit TorchMemory(std::unique_ptr<Hook> hook);
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

}  // namespace headroom::trainer
