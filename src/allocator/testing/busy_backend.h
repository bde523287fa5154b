// SPDX-License-Identifier: Apache-2.0
// For tests: a device whose streams are busy until the test says otherwise. It decorates any other
// one; work is only numbers, and an event passes when the work before it is finished.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "allocator/backend.h"

namespace headroom::allocator {

class BusyBackend final : public Backend {
 public:
  // `backend` outlives this one.
  explicit BusyBackend(Backend& backend) : backend_(&backend) {}

  // Queues a piece of work; its number on the stream, from 1.
  std::uint64_t queue(StreamId stream) { return ++streams_[stream].queued; }
  void finish(StreamId stream) { streams_[stream].finished = streams_[stream].queued; }
  bool is_finished(StreamId stream, std::uint64_t work) {
    return streams_[stream].finished >= work;
  }

  // A stream that must not be named in any call, as one that is being captured.
  void forbid(StreamId stream, bool forbidden) { streams_[stream].forbidden = forbidden; }
  std::uint64_t violations() const { return violations_; }
  std::uint64_t waits() const { return waits_; }
  std::uint64_t open_events() const { return events_.size(); }

  // Called with the addresses that are about to lose their memory.
  void on_loss(std::function<void(std::uint64_t address, std::uint64_t bytes)> told) {
    told_ = std::move(told);
  }

  const Capabilities& capabilities() const override { return backend_->capabilities(); }
  const std::uint64_t* alive() const override { return backend_->alive(); }
  Result<std::uint64_t> reserve_range(std::uint64_t bytes) override {
    return backend_->reserve_range(bytes);
  }
  Result<PageHandle> create_pages(std::uint32_t count) override {
    return backend_->create_pages(count);
  }
  Status destroy_pages(PageHandle pages) override { return backend_->destroy_pages(pages); }
  Status map(std::uint64_t address, PageHandle pages) override {
    return backend_->map(address, pages);
  }
  Status allow_access(std::uint64_t address, std::uint64_t bytes) override {
    return backend_->allow_access(address, bytes);
  }
  Status unmap(std::uint64_t address) override {
    if (told_) told_(address, page_bytes);
    return backend_->unmap(address);
  }
  Result<std::uint64_t> allocate(std::uint64_t bytes) override {
    auto address = backend_->allocate(bytes);
    if (address) plain_[*address] = bytes;
    return address;
  }
  Status release(std::uint64_t address) override {
    if (told_) told_(address, plain_[address]);
    return backend_->release(address);
  }
  Result<DeviceMemory> device_memory() override { return backend_->device_memory(); }
  void bind_stream(StreamId stream, std::uintptr_t native) override {
    backend_->bind_stream(stream, native);
  }
  Status wait_for(StreamId stream) override {
    HEADROOM_CHECK(check(stream));
    ++waits_;
    finish(stream);
    return Done{};
  }
  Result<EventId> record(StreamId stream) override {
    HEADROOM_CHECK(check(stream));
    events_[++last_event_] = {stream, streams_[stream].queued};
    return last_event_;
  }
  Result<bool> passed(EventId event) override {
    const auto found = events_.find(event);
    if (found == events_.end()) return Error{Errc::invalid, "there is no such event", ""};
    HEADROOM_CHECK(check(found->second.stream));
    if (!is_finished(found->second.stream, found->second.work)) return false;
    events_.erase(found);
    return true;
  }

 private:
  struct Stream {
    std::uint64_t queued = 0;
    std::uint64_t finished = 0;
    bool forbidden = false;
  };
  struct Event {
    StreamId stream = 0;
    std::uint64_t work = 0;
  };

  Status check(StreamId stream) {
    if (!streams_[stream].forbidden) return Done{};
    ++violations_;
    return Error{Errc::unsupported, "this stream must not be named now", ""};
  }

  Backend* backend_;
  std::map<StreamId, Stream> streams_;
  std::map<EventId, Event> events_;
  std::map<std::uint64_t, std::uint64_t> plain_;
  std::function<void(std::uint64_t, std::uint64_t)> told_;
  EventId last_event_ = 0;
  std::uint64_t violations_ = 0;
  std::uint64_t waits_ = 0;
};

}  // namespace headroom::allocator
