// SPDX-License-Identifier: Apache-2.0
// What the self-test needs of host memory besides a Backend.
#pragma once

#include "allocator/backends/host.h"
#include "allocator/self_test/self_test.h"

namespace headroom::allocator {

class HostAccess final : public DeviceAccess {
 public:
  // `backend` outlives this object.
  explicit HostAccess(const HostBackend& backend) : backend_(&backend) {}

  Status write(std::uint64_t address, std::span<const std::uint64_t> words) override;
  Status read(std::uint64_t address, std::span<std::uint64_t> words) override;
  Status fill(std::uint64_t address, std::uint64_t bytes, std::uint32_t word) override;
  Status copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) override;
  // The largest number there is, minus what the backend's memory file holds. The machine's real
  // free memory is no use for a test, because it changes all the time.
  std::optional<std::uint64_t> free_bytes() override;
  std::uint64_t now_ns() override;
  void pause(std::uint64_t ns) override;

 private:
  const HostBackend* backend_;
};

}  // namespace headroom::allocator
