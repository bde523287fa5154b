// SPDX-License-Identifier: Apache-2.0
#include "allocator/replay/trace_recorder.h"

#include <fmt/format.h>

namespace headroom::allocator {

std::optional<Address> TraceRecorder::allocate(const Request& request) {
  const MutexLock lock(mutex_);
  const auto address = policy_->allocate(request);
  if (!address) return std::nullopt;
  const std::uint64_t id = next_id_++;
  ids_.emplace(*address, id);
  sink_(fmt::format("a {} {} {} {}\n", id, request.bytes, request.stream, to_string(request.tag)));
  return address;
}

void TraceRecorder::free(Address address) {
  const MutexLock lock(mutex_);
  policy_->free(address);
  const auto id = ids_.find(address);
  if (id == ids_.end()) return;
  sink_(fmt::format("f {}\n", id->second));
  ids_.erase(id);
}

void TraceRecorder::retag(Address address, Component tag) {
  policy_->retag(address, tag);
}

void TraceRecorder::synchronize(StreamId stream) {
  const MutexLock lock(mutex_);
  policy_->synchronize(stream);
  sink_(fmt::format("s {}\n", stream));
}

}  // namespace headroom::allocator
