// SPDX-License-Identifier: Apache-2.0
// What a C caller's headroom_allocator points to.
#pragma once

#include <headroom/allocator.h>

#include <memory>
#include <string>

#include "allocator/backends/background_thread.h"
#include "allocator/budget.h"
#include "allocator/c_api/device.h"
#include "allocator/c_api/stream_table.h"
#include "allocator/files/flight_recorder.h"
#include "allocator/headroom_allocator.h"
#include "allocator/name_table.h"
#include "base/result.h"
#include "machine/fork_guard.h"

// In the order in which they need each other: the allocator's thread, budget and recorder outlive
// it.
struct headroom_allocator {
  headroom::machine::ForkGuard guard;
  std::string description;
  std::unique_ptr<headroom::allocator::BackgroundThread> background;
  std::unique_ptr<headroom::allocator::Budget> budget;
  std::string recording_path;
  std::unique_ptr<headroom::allocator::FlightRecorder> recorder;
  headroom::allocator::NameTable names;
  headroom::allocator::HeadroomAllocator allocator;
  headroom::allocator::c_api::StreamTable streams;
};

namespace headroom::allocator::c_api {

// Done, if calls may go on: the handle is there, and this is the process that made it.
Status check(const headroom_allocator* handle);

Result<Component> component_of(std::uint16_t component);

// The number of a caller's stream, which the device is told of when it is new.
inline Result<StreamId> stream_of(headroom_allocator& handle, headroom_stream stream) {
  return handle.streams.number(stream, [&](StreamId id, std::uintptr_t native) {
    handle.allocator.bind_stream(id, native);
  });
}

// The number at the seam; what it points to is the device's.
inline Address address_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

inline void* pointer_to(Address address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a number inside, a pointer for C.
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

}  // namespace headroom::allocator::c_api
