// SPDX-License-Identifier: Apache-2.0
// One GPU made of this machine's memory: the fake driver's memory, and streams and events of its
// own. In deferred mode, copies and fills stay queued until somebody waits for their stream, an
// event behind them or the device; work that then meets memory that is gone loses the device, as an
// illegal address does on a real one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "allocator/backends/testing/fake_driver.h"
#include "base/mutex.h"
#include "base/result.h"
#include "stand_ins/stream_queues.h"

namespace headroom::stand_ins {

struct GpuSettings {
  std::uint64_t total_bytes = allocator::testing::FakeDriver::total_bytes;
  bool is_deferred = false;
  // So many times an event is not ready when it is asked; then its work is done.
  unsigned polls = 1;
  allocator::testing::Fault fault = allocator::testing::Fault::none;
};

struct GpuCounts {
  std::uint64_t allocations = 0;  // Plain ones.
  std::uint64_t releases = 0;
  std::uint64_t plain_bytes = 0;  // In plain allocations now.
  std::uint64_t peak_plain_bytes = 0;
  std::uint64_t copies = 0;
  std::uint64_t fills = 0;
  std::uint64_t launches = 0;
};

// Memory of the host that the GPUs may use at any time, because it was pinned. Any thread may call.
class PinnedMemory {
 public:
  void add(std::uint64_t address, std::uint64_t bytes);
  // Returns whether it began there.
  bool remove(std::uint64_t address);
  bool contains(std::uint64_t address) const;

 private:
  mutable Mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> pieces_;  // Address → bytes.
};

// The number of the GPU to which a handle of a stream or an event belongs; `current` for handles
// that every GPU has.
inline unsigned device_of(std::uintptr_t handle, unsigned current) {
  return handle < 256 ? current : static_cast<unsigned>(handle % 256);
}

// Any thread may call any function. Handles of streams and events are numbers; 0 is the null
// stream, and other streams below 100 are there when they are named.
class Gpu {
 public:
  using Handle = std::uintptr_t;

  // `number` is in the last byte of the handles of its streams and events (device_of()). The pinned
  // memory outlives the GPU.
  Gpu(const GpuSettings& settings, PinnedMemory& pinned, unsigned number);

  // -- Memory. As the functions of allocator/backends/driver.h.
  Result<std::uint64_t> reserve(std::uint64_t bytes, std::uint64_t alignment);
  Status free_range(std::uint64_t address, std::uint64_t bytes);
  Result<std::uint64_t> create_pages(std::uint64_t bytes);
  Status destroy_pages(std::uint64_t page);
  Status map(std::uint64_t address, std::uint64_t bytes, std::uint64_t page);
  Status set_access(std::uint64_t address, std::uint64_t bytes);
  Status unmap(std::uint64_t address, std::uint64_t bytes);
  Result<std::uint64_t> allocate(std::uint64_t bytes);
  // Waits for the whole device first, as cudaFree does.
  Status release(std::uint64_t address);
  Result<allocator::MemoryInfo> memory_info();
  bool owns(std::uint64_t address) const;
  std::uint64_t virtual_memory_calls() const;
  std::uint64_t memory_info_calls() const;

  // -- Work on a stream. Addresses that are not this GPU's are the host's. A copy from memory of
  // the host that is not pinned takes the bytes at once, and one to such memory waits for itself.
  Status copy(Handle stream, std::uint64_t to, std::uint64_t from, std::uint64_t bytes);
  // On the null stream, and waits for it.
  Status copy_now(std::uint64_t to, std::uint64_t from, std::uint64_t bytes);
  // Repeats the low `unit` bytes (1 or 4) of the word.
  Status fill(Handle stream, std::uint64_t to, std::uint64_t bytes, std::uint32_t word,
              unsigned unit);
  Status call(Handle stream, std::function<void()> work);
  Status launch(Handle stream);  // A kernel, which does nothing.

  Result<Handle> create_stream(bool is_blocking);
  Status destroy_stream(Handle stream);
  Status wait_for_stream(Handle stream);
  Result<bool> stream_is_done(Handle stream);
  Status wait_for_device();

  // -- Events. One that was never recorded is done.
  Result<Handle> create_event();
  Status destroy_event(Handle event);
  Status record_event(Handle event, Handle stream);
  Result<bool> event_passed(Handle event);
  Status wait_for_event(Handle event);
  // What the stream is given from now on waits for the event.
  Status let_stream_wait(Handle stream, Handle event);

  // -- Graphs. What a stream is given between begin and end is the graph, which launches repeat.
  Status begin_capture(Handle stream);
  // 0: the stream is not being captured.
  Result<std::uint64_t> capture_of(Handle stream);
  Result<Handle> end_capture(Handle stream);
  Status launch_graph(Handle graph, Handle stream);
  Result<Handle> copy_graph(Handle graph);
  Status destroy_graph(Handle graph);

  // Takes everything that is plainly allocated, and all streams, events and graphs. Waits first.
  Status reset();

  // -- Faults.
  // Refuses the nth plain allocation or creation of pages from now on, once; 0: none.
  void refuse_allocation(std::uint64_t nth);
  // Whether work met memory that was gone. Every call then fails.
  bool is_lost() const;
  GpuCounts counts() const;

 private:
  struct Event {
    Point point;
    bool is_recorded = false;
    unsigned polls_left = 0;
  };

  Handle new_handle() { return last_handle_ += 256; }
  Status check() const;
  Status admit_allocation();
  Result<StreamNumber> number_of(Handle stream);
  Result<Event*> find_event(Handle event);
  Status add(Handle stream, StreamQueues::Work work, bool waits);
  // Events that were passed because somebody waited are ready at once.
  void settle_events(const std::function<bool(const Event&)>& is_waited_for);
  Status move_bytes(std::uint64_t to, bool to_here, std::uint64_t from, bool from_here,
                    std::uint64_t bytes);
  StreamQueues::Work copying(std::uint64_t to, std::uint64_t from, std::uint64_t bytes);

  const GpuSettings settings_;
  PinnedMemory& pinned_;
  mutable Mutex mutex_;  // Guards everything below; private functions require it.
  allocator::testing::FakeDriver driver_;
  StreamQueues queues_;
  std::map<Handle, StreamNumber> streams_ = {{0, null_stream}};
  std::map<Handle, Event> events_;
  std::map<Handle, std::vector<StreamQueues::Work>> graphs_;
  std::map<std::uint64_t, std::uint64_t> plain_;  // Address → bytes.
  GpuCounts counts_;
  std::uint64_t refused_allocation_ = 0;
  Handle last_handle_;
  bool is_lost_ = false;
};

}  // namespace headroom::stand_ins
