// SPDX-License-Identifier: Apache-2.0
// A backend that passes every call on to another one and measures how long it took, so that
// Capabilities::costs can be filled in for this machine.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "allocator/backend.h"

namespace headroom::allocator {

class TimedBackend final : public Backend {
 public:
  using Clock = std::function<std::uint64_t()>;  // Nanoseconds since some fixed moment.

  // `backend` outlives this one.
  TimedBackend(Backend& backend, Clock now_ns) : backend_(&backend), now_ns_(std::move(now_ns)) {}

  // The median cost of each kind of call, among those that succeeded; 0 if there were none.
  CallCosts costs() const;

  const Capabilities& capabilities() const override { return backend_->capabilities(); }
  const std::uint64_t* alive() const override { return backend_->alive(); }
  Result<std::uint64_t> reserve_range(std::uint64_t bytes) override {
    return timed(reserve, [&] { return backend_->reserve_range(bytes); });
  }
  Result<PageHandle> create_pages(std::uint32_t count) override {
    return timed(create, [&] { return backend_->create_pages(count); });
  }
  Status destroy_pages(PageHandle pages) override {
    return timed(destroy, [&] { return backend_->destroy_pages(pages); });
  }
  Status map(std::uint64_t address, PageHandle pages) override {
    return timed(mapping, [&] { return backend_->map(address, pages); });
  }
  Status allow_access(std::uint64_t address, std::uint64_t bytes) override {
    return timed(access, [&] { return backend_->allow_access(address, bytes); });
  }
  Status unmap(std::uint64_t address) override {
    return timed(unmapping, [&] { return backend_->unmap(address); });
  }
  Result<std::uint64_t> allocate(std::uint64_t bytes) override {
    return timed(allocation, [&] { return backend_->allocate(bytes); });
  }
  Status release(std::uint64_t address) override {
    return timed(releasing, [&] { return backend_->release(address); });
  }
  void bind_stream(StreamId stream, std::uintptr_t native) override {
    backend_->bind_stream(stream, native);
  }
  Status wait_for(StreamId stream) override {
    return timed(waiting, [&] { return backend_->wait_for(stream); });
  }
  Result<EventId> record(StreamId stream) override { return backend_->record(stream); }
  Result<bool> passed(EventId event) override { return backend_->passed(event); }

 private:
  enum Kind : std::uint8_t {
    reserve,
    create,
    destroy,
    mapping,
    access,
    unmapping,
    allocation,
    releasing,
    waiting,
    kinds
  };

  template <class Call>
  std::invoke_result_t<Call> timed(Kind kind, Call&& call) {
    const std::uint64_t before = now_ns_();
    auto result = call();
    if (result) durations_ns_[kind].push_back(now_ns_() - before);
    return result;
  }
  std::uint32_t median_ns(Kind kind) const;

  Backend* backend_;
  Clock now_ns_;
  std::array<std::vector<std::uint64_t>, kinds> durations_ns_;
};

// Measures a backend's calls with a few pages and allocations, all of which are given back. Takes
// about as long as 100 calls. Fails if one of the calls fails.
Result<CallCosts> measure_costs(Backend& backend, const TimedBackend::Clock& now_ns);

}  // namespace headroom::allocator
