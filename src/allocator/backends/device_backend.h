// SPDX-License-Identifier: Apache-2.0
// A GPU's memory as a Backend, over any Driver. What is known to go wrong in drivers' virtual
// memory is worked around here once, so that the core needs to know none of it; what cannot be
// worked around is an Error, or is found by the self-test before anybody relies on it.
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
  // Plain memory only.
  explicit DeviceBackend(std::unique_ptr<Driver> driver)
      : DeviceBackend(std::move(driver), Capabilities{}) {}
  // Virtual memory as well where the verdict is yes: nobody gets it without having asked for one.
  DeviceBackend(std::unique_ptr<Driver> driver, const VirtualMemoryVerdict& verdict);
  // For the self-test: virtual memory on trial, without any waiting. Fails where the driver has
  // none.
  static Result<std::unique_ptr<DeviceBackend>> on_trial(std::unique_ptr<Driver> driver);
  ~DeviceBackend() override;

  Driver& driver() { return *driver_; }

  const Capabilities& capabilities() const override { return capabilities_; }
  const std::uint64_t* alive() const override {
    return fork_guard_ ? fork_guard_->word() : nullptr;
  }
  Result<std::uint64_t> reserve_range(std::uint64_t bytes) override;
  Result<PageHandle> create_pages(std::uint32_t count) override;
  // Where the driver does not give the memory back while addresses are reserved, it is kept for the
  // next create_pages() of as many.
  Status destroy_pages(PageHandle pages) override;
  Status map(std::uint64_t address, PageHandle pages) override;
  // Where the driver refuses the stretch, it is asked again: from where the mapped pages begin,
  // then each mapping by itself, all of it a few times.
  Status allow_access(std::uint64_t address, std::uint64_t bytes) override;
  Status unmap(std::uint64_t address) override;
  Result<std::uint64_t> allocate(std::uint64_t bytes) override;
  Status release(std::uint64_t address) override;
  // Pages that the driver would not give back, and that are kept for the next, count as free: it is
  // this process that may have them. Fails where the driver's figures cannot be.
  Result<DeviceMemory> device_memory() override;
  void bind_stream(StreamId stream, std::uintptr_t native) override;
  // For a stream that nobody bound this is a wait for the whole GPU.
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
  int owner_;  // The process that made it.
  Result<machine::ForkGuard> fork_guard_ = machine::ForkGuard::create();
  std::vector<Reservation> reservations_;  // As the driver gave them.
  PageTable table_;
  std::vector<std::uint64_t> handles_;  // The driver's, by PageHandle.
  std::map<std::uint32_t, std::vector<std::uint64_t>> spare_handles_;  // By how many pages.
  PlainTable plain_;
  std::map<StreamId, std::uintptr_t> streams_;
  std::map<EventId, std::uintptr_t> events_;
  std::vector<std::uintptr_t> spare_events_;
  EventId last_event_ = 0;
  int tail_refusals_ = 0;
};

}  // namespace headroom::allocator
