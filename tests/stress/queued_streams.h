// SPDX-License-Identifier: Apache-2.0
// For tests: a backend whose streams work as a GPU's do. What is queued on a stream is done in
// order, some time later: when the stream is waited for, or when the test lets it advance. So
// memory that is handed to another stream, unmapped or released too early is touched too late,
// which shows.
//
// Thread-safe as far as queueing and advancing go; the rest as the backend that it decorates.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "allocator/backend.h"

namespace headroom::allocator::testing {

class QueuedStreams final : public Backend {
 public:
  using Work = std::function<void()>;

  // `backend` outlives this one.
  explicit QueuedStreams(Backend& backend) : backend_(&backend) {}

  void queue(StreamId stream, Work work) {
    const std::scoped_lock lock(mutex_);
    streams_[stream].work.push_back(std::move(work));
  }
  // Does up to `count` pieces of the stream's work.
  void advance(StreamId stream, std::uint64_t count) {
    const std::scoped_lock lock(mutex_);
    Stream& queued = streams_[stream];
    for (; count > 0 && !queued.work.empty(); --count) {
      queued.work.front()();
      queued.work.pop_front();
      ++queued.done;
    }
  }
  void finish_all() {
    std::size_t streams = 0;
    {
      const std::scoped_lock lock(mutex_);
      streams = streams_.empty() ? 0 : streams_.rbegin()->first + std::size_t{1};
    }
    for (std::size_t i = 0; i < streams; ++i) advance(static_cast<StreamId>(i), UINT64_MAX);
  }

  const Capabilities& capabilities() const override { return backend_->capabilities(); }
  Result<std::uint64_t> reserve_range(std::uint64_t bytes) override {
    return backend_->reserve_range(bytes);
  }
  Result<PageHandle> create_pages(std::uint32_t count) override {
    return backend_->create_pages(count);
  }
  Status destroy_pages(PageHandle pages) override { return backend_->destroy_pages(pages); }
  Status map(std::uint64_t address, PageHandle page) override {
    return backend_->map(address, page);
  }
  Status allow_access(std::uint64_t address, std::uint64_t bytes) override {
    return backend_->allow_access(address, bytes);
  }
  Status unmap(std::uint64_t address) override { return backend_->unmap(address); }
  Result<std::uint64_t> allocate(std::uint64_t bytes) override { return backend_->allocate(bytes); }
  Status release(std::uint64_t address) override { return backend_->release(address); }
  void bind_stream(StreamId stream, std::uintptr_t native) override {
    backend_->bind_stream(stream, native);
  }
  Status wait_for(StreamId stream) override {
    advance(stream, UINT64_MAX);
    return Done{};
  }
  Result<EventId> record(StreamId stream) override {
    const std::scoped_lock lock(mutex_);
    const Stream& queued = streams_[stream];
    events_[++last_event_] = {stream, queued.done + queued.work.size()};
    return last_event_;
  }
  Result<bool> passed(EventId event) override {
    const std::scoped_lock lock(mutex_);
    const auto found = events_.find(event);
    if (found == events_.end()) return Error{Errc::invalid, "no such event", ""};
    if (streams_[found->second.first].done < found->second.second) return false;
    events_.erase(found);
    return true;
  }

 private:
  struct Stream {
    std::deque<Work> work;
    std::uint64_t done = 0;
  };

  Backend* backend_;
  std::mutex mutex_;
  std::map<StreamId, Stream> streams_;
  std::map<EventId, std::pair<StreamId, std::uint64_t>> events_;  // When so much is done.
  EventId last_event_ = 0;
};

}  // namespace headroom::allocator::testing
