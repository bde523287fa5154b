// SPDX-License-Identifier: Apache-2.0
#include "torch_peer_policy.h"

#include <c10/cuda/CUDACachingAllocator.h>

#include <cstdio>
#include <cstdlib>

namespace headroom::peers {
namespace {

constexpr allocator::Address no_block = 1;

// Streams are told apart by handle alone; 0 is CUDA's default stream.
cudaStream_t handle_of(allocator::StreamId stream) {
  return reinterpret_cast<cudaStream_t>(std::uintptr_t{stream} << 8U);
}

c10::cuda::CUDACachingAllocator::CUDAAllocator& started() {
  auto& torch = *c10::cuda::CUDACachingAllocator::get();
  torch.init(1);
  return torch;
}

}  // namespace

TorchPeerPolicy::TorchPeerPolicy(std::uint64_t capacity_bytes)
    : torch_(started()), calls_before_(counting_gpu().calls()), ns_before_(counting_gpu().ns()) {
  counting_gpu().set_capacity(capacity_bytes);
  torch_.resetPeakStats(0);
}

TorchPeerPolicy::~TorchPeerPolicy() {
  for (const auto& segment : torch_.snapshot().segments) {
    std::size_t address = segment.address;
    for (const auto& block : segment.blocks) {
      if (block.allocated) torch_.raw_delete(reinterpret_cast<void*>(address));
      address += block.size;
    }
  }
  torch_.emptyCache();
  if (counting_gpu().used_bytes() == 0) return;
  std::fprintf(stderr, "torch_peer: PyTorch's allocator kept memory after its cache was emptied\n");
  std::abort();
}

std::optional<allocator::Address> TorchPeerPolicy::allocate(const allocator::Request& request) {
  if (request.bytes == 0) return no_block;
  const std::uint64_t refusals = counting_gpu().refusals();
  try {
    void* block = torch_.raw_alloc_with_stream(request.bytes, handle_of(request.stream));
    return reinterpret_cast<allocator::Address>(block);
  } catch (const c10::Error&) {
    // On a machine with NVIDIA's own libraries the message of OutOfMemoryError itself fails,
    // because they do not know this GPU; that is an internal error of PyTorch's.
    if (counting_gpu().refusals() == refusals) throw;
    return std::nullopt;
  }
}

void TorchPeerPolicy::free(allocator::Address address) {
  if (address != no_block) torch_.raw_delete(reinterpret_cast<void*>(address));
}

const allocator::Usage& TorchPeerPolicy::usage() const {
  const auto stats = torch_.getDeviceStats(0);
  const auto& live = stats.allocated_bytes[0];  // 0: of both pools together.
  const auto& reserved = stats.reserved_bytes[0];
  usage_.live_bytes = static_cast<std::uint64_t>(live.current);
  usage_.live_peak_bytes = static_cast<std::uint64_t>(live.peak);
  usage_.reserved_bytes = static_cast<std::uint64_t>(reserved.current);
  usage_.reserved_peak_bytes = static_cast<std::uint64_t>(reserved.peak);
  usage_.device_calls = counting_gpu().calls() - calls_before_;
  usage_.device_ns = counting_gpu().ns() - ns_before_;
  return usage_;
}

}  // namespace headroom::peers
