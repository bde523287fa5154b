// SPDX-License-Identifier: Apache-2.0
// The operations of one GPU's driver on which DeviceBackend is built. HIP and CUDA offer the same
// ones under different names; addresses, pages, streams and events are numbers here. A failed call
// returns an Error that says what was asked, what the driver called the failure, and what to do.
//
// Every call makes its device current for the calling thread while it runs, and is allowed while a
// stream is being captured. Any thread may call: HIP and CUDA make all of these calls thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace headroom::allocator {

struct MemoryInfo {
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;
  std::string_view source = {};  // The call that reported it.
};

class Driver {
 public:
  Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  virtual ~Driver() = default;

  virtual std::string_view name() const = 0;  // "HIP", "CUDA".
  virtual Result<std::string> gpu_name() = 0;
  virtual Result<std::string> pci_address() = 0;  // "0000:03:00.0".
  // The runtime's HIP_VERSION or the CUDA driver's version, as the driver gives it.
  virtual Result<int> version() = 0;

  // Fails and says why if virtual memory cannot even be tried.
  virtual Status check_virtual_memory() = 0;
  virtual Result<std::uint64_t> reserve(std::uint64_t bytes, std::uint64_t alignment) = 0;
  virtual Status free_range(std::uint64_t address, std::uint64_t bytes) = 0;
  // Creates `bytes` of physical memory under one handle.
  virtual Result<std::uint64_t> create_pages(std::uint64_t bytes) = 0;
  virtual Status destroy_pages(std::uint64_t handle) = 0;
  virtual Status map(std::uint64_t address, std::uint64_t bytes, std::uint64_t handle) = 0;
  virtual Status set_access(std::uint64_t address, std::uint64_t bytes) = 0;
  // Unmaps exactly what one map() mapped, because HIP unmaps one mapping at a time.
  virtual Status unmap(std::uint64_t address, std::uint64_t bytes) = 0;

  virtual Result<std::uint64_t> allocate(std::uint64_t bytes) = 0;
  virtual Status release(std::uint64_t address) = 0;
  virtual Result<MemoryInfo> memory_info() = 0;

  virtual Status wait_for_device() = 0;
  virtual Status wait_for_stream(std::uintptr_t stream) = 0;
  virtual Result<std::uintptr_t> create_event() = 0;
  virtual Status record_event(std::uintptr_t event, std::uintptr_t stream) = 0;
  virtual Result<bool> event_passed(std::uintptr_t event) = 0;
  virtual Status destroy_event(std::uintptr_t event) = 0;

  // Each has finished when it returns. The GPU itself performs `fill` and `copy`; it sees memory
  // through other page tables than copies from and to the host do.
  virtual Status copy_in(std::uint64_t to, const void* from, std::uint64_t bytes) = 0;
  virtual Status copy_out(void* to, std::uint64_t from, std::uint64_t bytes) = 0;
  virtual Status copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) = 0;
  virtual Status fill(std::uint64_t address, std::uint64_t bytes, std::uint32_t word) = 0;

  virtual std::uint64_t now_ns() = 0;  // Since some fixed moment; never goes back.
  virtual void pause(std::uint64_t ns) = 0;
};

}  // namespace headroom::allocator
