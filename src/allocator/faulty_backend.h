// SPDX-License-Identifier: Apache-2.0
// For tests: a backend that fails on command. It decorates any other one and refuses the calls that
// were planned, without passing them on.
#pragma once

#include <cstdint>
#include <map>

#include "allocator/backend.h"

namespace headroom::allocator {

enum class BackendCall : std::uint8_t { reserve, create, destroy, map, unmap, wait };

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

  Result<std::uint64_t> reserve_range(std::uint64_t bytes) override {
    HEADROOM_CHECK(passes(BackendCall::reserve));
    return backend_->reserve_range(bytes);
  }
  Result<PageHandle> create_page() override {
    HEADROOM_CHECK(passes(BackendCall::create));
    return backend_->create_page();
  }
  Status destroy_page(PageHandle page) override {
    HEADROOM_CHECK(passes(BackendCall::destroy));
    return backend_->destroy_page(page);
  }
  Status map(std::uint64_t address, PageHandle page) override {
    HEADROOM_CHECK(passes(BackendCall::map));
    return backend_->map(address, page);
  }
  Status unmap(std::uint64_t address) override {
    HEADROOM_CHECK(passes(BackendCall::unmap));
    return backend_->unmap(address);
  }
  Status wait_for(StreamId stream) override {
    HEADROOM_CHECK(passes(BackendCall::wait));
    return backend_->wait_for(stream);
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
