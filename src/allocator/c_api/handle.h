// SPDX-License-Identifier: Apache-2.0
// The object that a C caller's headroom_allocator points to.
#pragma once

#include <headroom/allocator.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "allocator/backends/background_thread.h"
#include "allocator/backends/system_guard.h"
#include "allocator/budget.h"
#include "allocator/c_api/device.h"
#include "allocator/c_api/stream_table.h"
#include "allocator/files/flight_recorder.h"
#include "allocator/forensics/name_table.h"
#include "allocator/headroom/headroom_allocator.h"
#include "base/bytes.h"
#include "base/result.h"
#include "machine/fork_guard.h"

namespace headroom::allocator::c_api {

// The order matters: the allocator's thread, budgets and recorder must outlive it.
struct State {
  machine::ForkGuard guard;
  std::string description;
  std::unique_ptr<BackgroundThread> background;
  std::unique_ptr<Budget> budget;
  std::unique_ptr<SystemGuard> system_guard;  // Asks the budget behind it.
  Bytes kept_of_ram;                          // By the guard.
  std::string recording_path;
  std::unique_ptr<FlightRecorder> recorder;
  NameTable names;
  HeadroomAllocator allocator;
  StreamTable streams;
};

}  // namespace headroom::allocator::c_api

// Empty after headroom_allocator_destroy(). The handle itself is never freed and never reused, so
// that a call that comes too late, usually from a static object's destructor, is an error and not a
// crash.
struct headroom_allocator {
  std::atomic<headroom::allocator::c_api::State*> state;
  headroom_allocator* destroyed_before = nullptr;
};

namespace headroom::allocator::c_api {

// Returns the state behind the handle. Fails if the handle is null, if it was destroyed, or in
// another process than the one that created it.
Result<State*> use(const headroom_allocator* handle);

Result<Component> component_of(std::uint16_t component);

// The number of a caller's stream; a new stream is bound on the device.
inline Result<StreamId> stream_of(State& state, headroom_stream stream) {
  return state.streams.number(
      stream, [&](StreamId id, std::uintptr_t native) { state.allocator.bind_stream(id, native); });
}

// A block's address as a number; the memory there is the device's.
inline Address address_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

inline void* pointer_to(Address address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a number inside, a pointer for C.
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

}  // namespace headroom::allocator::c_api
