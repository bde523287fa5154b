// SPDX-License-Identifier: Apache-2.0
// Streams, events and graphs of a GPU that is made of this machine's memory.
#include <utility>

#include "stand_ins/gpu.h"

namespace headroom::stand_ins {
namespace {

Error no_such(const char* what) {
  return {Errc::invalid, std::string("no such ") + what, ""};
}

}  // namespace

Result<Gpu::Handle> Gpu::create_stream(bool is_blocking) {
  const MutexLock lock(mutex_);
  HEADROOM_CHECK(check());
  const Handle handle = new_handle();
  streams_[handle] = queues_.create(is_blocking);
  return handle;
}

Status Gpu::destroy_stream(Handle stream) {
  const MutexLock lock(mutex_);
  if (stream == 0 || streams_.erase(stream) == 0) return no_such("stream");
  return Done{};
}

Status Gpu::wait_for_stream(Handle stream) {
  const MutexLock lock(mutex_);
  HEADROOM_CHECK(check());
  HEADROOM_TRY(const StreamNumber number, number_of(stream));
  if (queues_.capture_of(number) != 0) return Error{Errc::busy, "the stream is captured", ""};
  // The null stream's wait is for blocking streams as well: an empty piece of work waits for them.
  queues_.add(number, [] {});
  queues_.run(queues_.now(number));
  settle_events([&](const Event& event) { return event.point.stream == number; });
  return check();
}

void Gpu::settle_events(const std::function<bool(const Event&)>& is_waited_for) {
  for (auto& [handle, event] : events_)
    if (is_waited_for(event)) event.polls_left = 0;
}

Result<bool> Gpu::stream_is_done(Handle stream) {
  const MutexLock lock(mutex_);
  HEADROOM_CHECK(check());
  HEADROOM_TRY(const StreamNumber number, number_of(stream));
  return queues_.is_done(queues_.now(number));
}

Status Gpu::wait_for_device() {
  const MutexLock lock(mutex_);
  queues_.run_all();
  settle_events([](const Event&) { return true; });
  return check();
}

Result<Gpu::Handle> Gpu::create_event() {
  const MutexLock lock(mutex_);
  HEADROOM_CHECK(check());
  const Handle handle = new_handle();
  events_[handle] = {};
  return handle;
}

Status Gpu::destroy_event(Handle event) {
  const MutexLock lock(mutex_);
  if (events_.erase(event) == 0) return no_such("event");
  return Done{};
}

Result<Gpu::Event*> Gpu::find_event(Handle event) {
  HEADROOM_CHECK(check());
  const auto found = events_.find(event);
  if (found == events_.end()) return no_such("event");
  return &found->second;
}

Status Gpu::record_event(Handle event, Handle stream) {
  const MutexLock lock(mutex_);
  HEADROOM_TRY(Event* const found, find_event(event));
  HEADROOM_TRY(const StreamNumber number, number_of(stream));
  // On the null stream an event also waits for blocking streams, as the work would.
  if (number == null_stream && queues_.capture_of(number) == 0) queues_.add(number, [] {});
  *found = {queues_.now(number), true, settings_.polls};
  if (!settings_.is_deferred) queues_.run(found->point);
  return check();
}

Result<bool> Gpu::event_passed(Handle event) {
  const MutexLock lock(mutex_);
  HEADROOM_TRY(Event* const found, find_event(event));
  if (!found->is_recorded) return true;
  if (found->polls_left > 0) {
    --found->polls_left;
    return false;
  }
  queues_.run(found->point);
  HEADROOM_CHECK(check());
  return true;
}

Status Gpu::wait_for_event(Handle event) {
  const MutexLock lock(mutex_);
  HEADROOM_TRY(Event* const found, find_event(event));
  if (!found->is_recorded) return Done{};
  found->polls_left = 0;
  queues_.run(found->point);
  return check();
}

Status Gpu::let_stream_wait(Handle stream, Handle event) {
  const MutexLock lock(mutex_);
  HEADROOM_TRY(Event* const found, find_event(event));
  HEADROOM_TRY(const StreamNumber number, number_of(stream));
  if (found->is_recorded) queues_.wait_for(number, found->point);
  return Done{};
}

Status Gpu::begin_capture(Handle stream) {
  const MutexLock lock(mutex_);
  HEADROOM_CHECK(check());
  HEADROOM_TRY(const StreamNumber number, number_of(stream));
  if (number == null_stream || queues_.begin_capture(number) == 0)
    return Error{Errc::invalid, "the stream cannot be captured now", ""};
  return Done{};
}

Result<std::uint64_t> Gpu::capture_of(Handle stream) {
  const MutexLock lock(mutex_);
  HEADROOM_TRY(const StreamNumber number, number_of(stream));
  return queues_.capture_of(number);
}

Result<Gpu::Handle> Gpu::end_capture(Handle stream) {
  const MutexLock lock(mutex_);
  HEADROOM_CHECK(check());
  HEADROOM_TRY(const StreamNumber number, number_of(stream));
  const std::uint64_t capture = queues_.capture_of(number);
  if (capture == 0) return Error{Errc::invalid, "the stream is not being captured", ""};
  const Handle graph = new_handle();
  graphs_[graph] = queues_.end_capture(capture);
  return graph;
}

Status Gpu::launch_graph(Handle graph, Handle stream) {
  const MutexLock lock(mutex_);
  HEADROOM_CHECK(check());
  const auto found = graphs_.find(graph);
  if (found == graphs_.end()) return no_such("graph");
  const auto work = found->second;
  return add(
      stream,
      [work] {
        for (const auto& each : work) each();
      },
      false);
}

Result<Gpu::Handle> Gpu::copy_graph(Handle graph) {
  const MutexLock lock(mutex_);
  const auto found = graphs_.find(graph);
  if (found == graphs_.end()) return no_such("graph");
  const Handle copied = new_handle();
  graphs_[copied] = found->second;
  return copied;
}

Status Gpu::destroy_graph(Handle graph) {
  const MutexLock lock(mutex_);
  if (graphs_.erase(graph) == 0) return no_such("graph");
  return Done{};
}

Status Gpu::reset() {
  const MutexLock lock(mutex_);
  queues_.run_all();
  HEADROOM_CHECK(check());
  for (const auto& [address, bytes] : plain_) HEADROOM_CHECK(driver_.release(address));
  counts_.releases += plain_.size();
  counts_.plain_bytes = 0;
  plain_.clear();
  std::erase_if(streams_, [](const auto& stream) { return stream.first != 0; });
  events_.clear();
  graphs_.clear();
  return Done{};
}

}  // namespace headroom::stand_ins
