// SPDX-License-Identifier: Apache-2.0
// A GPU's memory as a Backend, over any Driver. Known faults of drivers' virtual memory are worked
// around here, so that the core need not know them. A fault that cannot be worked around is an
// Error, or the self-test finds it before anything relies on the memory.
//
// Not thread-safe: the allocator's lock protects it. A forked child does not have the memory, and
// its calls are refused.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "allocator/backend.h"
#include "allocator/backends/driver.h"
#include "allocator/backends/virtual_memory_verdict.h"
#include "allocator/page_table.h"
#include "allocator/plain_table.h"
#include "machine/fork_guard.h"

namespace headroom::allocator {

class DeviceBackend final : public Backend {
 public:
  // Has plain memory only.
  explicit DeviceBackend(std::unique_ptr<Driver> driver)
      : DeviceBackend(std::move(driver), Capabilities{}) {}
  // Has virtual memory as well if the verdict is yes; it is never used without a verdict.
  DeviceBackend(std::unique_ptr<Driver> driver, const VirtualMemoryVerdict& verdict);
  // For the self-test: has virtual memory without a verdict, and never waits for memory to settle.
  // Fails if the driver has no virtual memory.
  static Result<std::unique_ptr<DeviceBackend>> on_trial(std::unique_ptr<Driver> driver);
  ~DeviceBackend() override;

  Driver& driver() { return *driver_; }

  const Capabilities& capabilities() const override { return capabilities_; }
  const std::uint64_t* alive() const override {
    return fork_guard_ ? fork_guard_->word() : nullptr;
  }
  Result<std::uint64_t> reserve_range(std::uint64_t bytes) override;
  Result<PageHandle> create_pages(std::uint32_t count) override;
  // If the driver does not return the memory while addresses are reserved, the handle is kept for
  // the next create_pages() of the same count.
  Status destroy_pages(PageHandle pages) override;
  Status map(std::uint64_t address, PageHandle pages) override;
  // If the driver refuses the stretch, asks again from where the mapped pages begin, then for each
  // mapping by itself, and repeats all of this a few times.
  Status allow_access(std::uint64_t address, std::uint64_t bytes) override;
  Status unmap(std::uint64_t address) override;
  Result<std::uint64_t> allocate(std::uint64_t bytes) override;
  Status release(std::uint64_t address) override;
  // Pages that are kept because the driver would not return them count as free, since this process
  // can use them. Fails if the driver's figures are impossible.
  Result<DeviceMemory> device_memory() override;
  void bind_stream(StreamId stream, std::uintptr_t native) override;
  // Waits for the whole GPU if the stream was never bound.
  Status wait_for(StreamId stream) override;
  Result<EventId> record(StreamId stream) override;
  Result<bool> passed(EventId event) override;

 private:
  DeviceBackend(std::unique_ptr<Driver> driver, const Capabilities& capabilities);

  struct Reservation {
    std::uint64_t address;
    std::uint64_t bytes;
  };

  Status check_owner() const;
  Status check_virtual_memory() const;
  Status try_access(std::uint64_t address, std::uint64_t bytes);
  Result<std::uintptr_t> spare_event();

  std::unique_ptr<Driver> driver_;
  Capabilities capabilities_;
  int owner_;  // The process that created it.
  Result<machine::ForkGuard> fork_guard_ = machine::ForkGuard::create();
  std::vector<Reservation> reservations_;  // Ranges as the driver returned them.
  PageTable table_;
  std::vector<std::uint64_t> handles_;  // The driver's handles, by PageHandle.
  std::map<std::uint32_t, std::vector<std::uint64_t>> spare_handles_;  // By page count.
  PlainTable plain_;
  std::map<StreamId, std::uintptr_t> streams_;
  std::map<EventId, std::uintptr_t> events_;
  std::vector<std::uintptr_t> spare_events_;
  EventId last_event_ = 0;
  int tail_refusals_ = 0;
};

}  // namespace headroom::allocator
