// SPDX-License-Identifier: Apache-2.0
// PyTorch's own allocator (libc10_cuda's, not our model of it) as a policy, over the counting GPU.
#pragma once

#include <cstdint>

#include "allocator/policy.h"
#include "counting_gpu.h"

namespace c10::cuda::CUDACachingAllocator {
class CUDAAllocator;
}

namespace headroom::peers {

// At most one at a time: PyTorch's allocator and the GPU are the process's. On destruction all live
// blocks are freed and the cache is emptied, so that the next one starts from nothing. Whether it
// uses expandable segments is settled by PYTORCH_CUDA_ALLOC_CONF before the first is made.
class TorchPeerPolicy final : public allocator::Policy {
 public:
  explicit TorchPeerPolicy(std::uint64_t capacity_bytes);
  ~TorchPeerPolicy() override;

  // A request of zero bytes gets an address and no block, as PyTorch gives none.
  std::optional<allocator::Address> allocate(const allocator::Request& request) override;
  void free(allocator::Address address) override;
  void retag(allocator::Address /*address*/, allocator::Component /*tag*/) override {}
  // PyTorch keeps a block for its stream for good, and nothing here records other streams' use.
  void synchronize(allocator::StreamId /*stream*/) override {}
  // Of what PyTorch's statistics say. Nothing by component: it knows none.
  const allocator::Usage& usage() const override;
  std::string_view name() const override { return "pytorch"; }

 private:
  c10::cuda::CUDACachingAllocator::CUDAAllocator& torch_;
  std::uint64_t calls_before_;
  std::uint64_t ns_before_;
  mutable allocator::Usage usage_;
};

}  // namespace headroom::peers
