// SPDX-License-Identifier: Apache-2.0
#include "trainer/host_domain.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <utility>

#include "allocator/backends/host.h"
#include "allocator/backends/host_memory.h"
#include "allocator/headroom/headroom_allocator.h"

namespace headroom::trainer {
namespace {

Error no_room(std::uint64_t bytes, allocator::Component tag, const allocator::Usage& usage,
              Bytes capacity) {
  return {Errc::out_of_memory,
          fmt::format("out of host memory: expected room for {} of the {}, found {} taken of the "
                      "{} that may be",
                      to_string(Bytes{bytes}), to_string(tag), to_string(Bytes{usage.live_bytes}),
                      to_string(capacity)),
          "give it more with device.host_capacity (headroom plan JOB says how much), if the "
          "machine has that free; or keep more on the device: optimizer.offload = false, "
          "compute.activation_offloading = false"};
}

Error refused(std::uint64_t bytes, allocator::Component tag, const Error& why) {
  return {Errc::out_of_memory,
          fmt::format("out of host memory: expected {} more for the {}, and the system refused: {}",
                      to_string(Bytes{bytes}), to_string(tag), why.message),
          why.next};
}

}  // namespace

Result<std::unique_ptr<HostDomain>> HostDomain::create(Bytes capacity, bool virtual_memory) {
  using VirtualMemory = allocator::HostBackend::VirtualMemory;
  HEADROOM_TRY(auto backend, allocator::HostBackend::create(virtual_memory ? VirtualMemory::on
                                                                           : VirtualMemory::off));
  // States stay where they are, and what layers keep comes and goes in one order: nothing to plan.
  auto policy = std::make_unique<allocator::HeadroomAllocator>(
      std::move(backend), capacity.value, allocator::HeadroomAllocator::Options{.planning = false});
  const auto* asked = policy.get();
  return std::make_unique<HostDomain>(std::move(policy), capacity,
                                      [asked] { return asked->device_refusal(); });
}

allocator::Usage HostDomain::usage() const {
  const MutexLock lock(mutex_);
  return policy_->usage();
}

at::Tensor HostDomain::empty(at::IntArrayRef shape, at::ScalarType type, allocator::Component tag) {
  std::uint64_t bytes = at::elementSize(type);
  for (const std::int64_t size : shape) bytes *= static_cast<std::uint64_t>(size);
  const auto options = at::TensorOptions().dtype(type).device(at::kCPU);
  if (bytes == 0) return at::empty(shape, options);
  return at::from_blob(
      take(bytes, tag), shape, [this](void* address) { give_back(address); }, options);
}

void* HostDomain::take(std::uint64_t bytes, allocator::Component tag) {
  const MutexLock lock(mutex_);
  const auto address = policy_->allocate({.bytes = bytes, .tag = tag});
  if (!address) {
    const auto why = refusal_ ? refusal_() : std::nullopt;
    throw OutOfHostMemory(why ? refused(bytes, tag, *why)
                              : no_room(bytes, tag, policy_->usage(), capacity_));
  }
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a policy's address is a pointer there.
  return reinterpret_cast<void*>(*address);
}

void HostDomain::give_back(void* address) {
  const MutexLock lock(mutex_);
  policy_->free(reinterpret_cast<allocator::Address>(address));
}

Result<Bytes> free_host_memory(std::uint32_t processes) {
  HEADROOM_TRY(const std::uint64_t room, allocator::read_machine_room(Bytes{0}));
  return Bytes{room / processes};
}

}  // namespace headroom::trainer
