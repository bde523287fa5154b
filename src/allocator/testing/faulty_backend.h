// SPDX-License-Identifier: Apache-2.0
// For tests: a backend that fails on command. It decorates any other one and refuses the calls that
// were planned, without passing them on.
#pragma once

#include <cstdint>
#include <map>

#include "allocator/backend.h"

namespace headroom::allocator {

enum class BackendCall : std::uint8_t {
  reserve,
  create,
  destroy,
  map,
  allow_access,
  unmap,
  allocate,
  release,
  wait,
  record,
  passed,
  device_memory
};

class FaultyBackend final : public Backend {
 public:
  // `backend` outlives this one.
  explicit FaultyBackend(Backend& backend) : backend_(&backend) {}

  // Calls number `first` (from 1) and the `count` - 1 after it fail.
  void fail(BackendCall call, std::uint64_t first, std::uint64_t count = 1) {
    plans_[call].first = first;
    plans_[call].last = first + count - 1;
  }
  std::uint64_t calls(BackendCall call) { return plans_[call].calls; }

  const Capabilities& capabilities() const override { return backend_->capabilities(); }
  const std::uint64_t* alive() const override { return backend_->alive(); }
  Result<std::uint64_t> reserve_range(std::uint64_t bytes) override {
    HEADROOM_CHECK(passes(BackendCall::reserve));
    return backend_->reserve_range(bytes);
  }
  Result<PageHandle> create_pages(std::uint32_t count) override {
    HEADROOM_CHECK(passes(BackendCall::create));
    return backend_->create_pages(count);
  }
  Status destroy_pages(PageHandle pages) override {
    HEADROOM_CHECK(passes(BackendCall::destroy));
    return backend_->destroy_pages(pages);
  }
  Status map(std::uint64_t address, PageHandle pages) override {
    HEADROOM_CHECK(passes(BackendCall::map));
    return backend_->map(address, pages);
  }
  Status unmap(std::uint64_t address) override {
    HEADROOM_CHECK(passes(BackendCall::unmap));
    return backend_->unmap(address);
  }
  Status allow_access(std::uint64_t address, std::uint64_t bytes) override {
    HEADROOM_CHECK(passes(BackendCall::allow_access));
    return backend_->allow_access(address, bytes);
  }
  Result<std::uint64_t> allocate(std::uint64_t bytes) override {
    HEADROOM_CHECK(passes(BackendCall::allocate));
    return backend_->allocate(bytes);
  }
  Status release(std::uint64_t address) override {
    HEADROOM_CHECK(passes(BackendCall::release));
    return backend_->release(address);
  }
  Result<DeviceMemory> device_memory() override {
    HEADROOM_CHECK(passes(BackendCall::device_memory));
    return backend_->device_memory();
  }
  void bind_stream(StreamId stream, std::uintptr_t native) override {
    backend_->bind_stream(stream, native);
  }
  Status wait_for(StreamId stream) override {
    HEADROOM_CHECK(passes(BackendCall::wait));
    return backend_->wait_for(stream);
  }
  Result<EventId> record(StreamId stream) override {
    HEADROOM_CHECK(passes(BackendCall::record));
    return backend_->record(stream);
  }
  Result<bool> passed(EventId event) override {
    HEADROOM_CHECK(passes(BackendCall::passed));
    return backend_->passed(event);
  }

 private:
  struct Plan {
    std::uint64_t calls = 0;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
  };

  Status passes(BackendCall call) {
    Plan& plan = plans_[call];
    ++plan.calls;
    if (plan.calls < plan.first || plan.calls > plan.last) return Done{};
    return Error{Errc::io, "a planned fault", ""};
  }

  Backend* backend_;
  std::map<BackendCall, Plan> plans_;
};

}  // namespace headroom::allocator
