// SPDX-License-Identifier: Apache-2.0
#include "allocator/backends/host_access.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <thread>

namespace headroom::allocator {
namespace {

void* pointer(std::uint64_t address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a number at the seam, memory here.
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

}  // namespace

Status HostAccess::write(std::uint64_t address, std::span<const std::uint64_t> words) {
  std::memcpy(pointer(address), words.data(), words.size_bytes());
  return Done{};
}

Status HostAccess::read(std::uint64_t address, std::span<std::uint64_t> words) {
  std::memcpy(words.data(), pointer(address), words.size_bytes());
  return Done{};
}

Status HostAccess::fill(std::uint64_t address, std::uint64_t bytes, std::uint32_t word) {
  std::fill_n(static_cast<std::uint32_t*>(pointer(address)), bytes / sizeof(word), word);
  return Done{};
}

Status HostAccess::copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
  std::memcpy(pointer(to), pointer(from), bytes);
  return Done{};
}

std::optional<std::uint64_t> HostAccess::free_bytes() {
  const auto held = backend_->held_bytes();
  if (!held) return std::nullopt;
  return std::numeric_limits<std::uint64_t>::max() - *held;
}

std::uint64_t HostAccess::now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

void HostAccess::pause(std::uint64_t ns) {
  if (ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
}

}  // namespace headroom::allocator
