// SPDX-License-Identifier: Apache-2.0
// Blocks, streams and graphs for C.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/c_api/handle.h"
#include "allocator/c_api/last_error.h"
#include "base/bytes.h"

namespace headroom::allocator::c_api {
namespace {

Error no_live_block(const void* pointer) {
  return {Errc::invalid,
          fmt::format("expected a live block of this allocator, found {}: freed before, or of "
                      "somebody else",
                      fmt::ptr(pointer)),
          "free each block once, with the allocator that it came from"};
}

// A short error, because programs that look for the largest batch fail often; headroom_explain()
// gives the long answer.
Error no_room(State& state, std::uint64_t bytes) {
  const Usage usage = state.allocator.usage_snapshot();
  const std::uint64_t capacity = state.allocator.capacity_bytes();
  std::string next = "headroom_explain() says what holds it and what would have fitted";
  if (bytes > capacity)
    return {Errc::out_of_memory,
            fmt::format("expected a request that fits into the capacity of {}, found one of {} "
                        "bytes",
                        to_string(Bytes{capacity}), bytes),
            std::move(next)};
  std::string found =
      fmt::format("expected room for {}, found {} live of at most {}", to_string(Bytes{bytes}),
                  to_string(Bytes{usage.live_bytes}), to_string(Bytes{capacity}));
  if (bytes <= capacity - std::min(capacity, usage.live_bytes)) {
    const auto shared = state.budget ? state.budget->state() : Result<BudgetState>(BudgetState{});
    if (!shared) return Error(shared.error()).in(found);
    if (state.budget && bytes > shared->available_bytes) return over_budget(bytes, *shared);
    const auto refusal = state.allocator.device_refusal();
    if (refusal && refusal->code == Errc::out_of_memory)
      return {Errc::out_of_memory, found + ": no more of the device: " + refusal->message,
              refusal->next.empty() ? next : refusal->next};
    found += ": the device has no more, or what is free is in pieces or waits for streams";
  }
  return {Errc::out_of_memory, std::move(found), std::move(next)};
}

Result<void*> allocate(headroom_allocator* handle, std::uint64_t bytes, headroom_stream stream,
                       headroom_tag tag) {
  HEADROOM_TRY(State* const state, use(handle));
  HEADROOM_TRY(const Component component, component_of(tag.component));
  HEADROOM_TRY(const StreamId id, stream_of(*state, stream));
  const auto address = state->allocator.allocate({bytes, component, id, tag.name});
  if (!address) return no_room(*state, bytes);
  return pointer_to(*address);
}

Status free_after(State& state, const void* block, std::span<const StreamId> streams) {
  if (state.allocator.free_after(address_of(block), streams)) return Done{};
  return no_live_block(block);
}

// Calls work(state, address) for a live block.
template <class Work>
Status with_block(headroom_allocator* handle, const void* block, Work&& work) {
  HEADROOM_TRY(State* const state, use(handle));
  if (!state->allocator.block_bytes(address_of(block))) return no_live_block(block);
  return work(*state, address_of(block));
}

}  // namespace
}  // namespace headroom::allocator::c_api

namespace allocator = headroom::allocator;
using namespace headroom::allocator::c_api;  // NOLINT(google-build-using-namespace)
using headroom::Done;
using headroom::Result;
using headroom::Status;

uint16_t headroom_name(headroom_allocator* handle, const char* name) {
  return value_of<uint16_t>(0, [&]() -> Result<uint16_t> {
    HEADROOM_TRY(State* const state, use(handle));
    if (name == nullptr) return uint16_t{0};
    const std::size_t before = state->names.size();
    const allocator::NameId id = state->names.intern(name);
    if (state->recorder && id > before) state->recorder->add_names(state->names);
    return id;
  });
}

void* headroom_allocate(headroom_allocator* handle, uint64_t bytes, headroom_stream stream,
                        headroom_tag tag) {
  return value_of<void*>(nullptr, [&] { return allocate(handle, bytes, stream, tag); });
}

headroom_result headroom_free(headroom_allocator* handle, void* block, headroom_stream stream) {
  return status_of([&]() -> Status {
    HEADROOM_TRY(State* const state, use(handle));
    if (block == nullptr) return Done{};
    HEADROOM_TRY(const allocator::StreamId id, stream_of(*state, stream));
    return free_after(*state, block, {&id, 1});
  });
}

headroom_result headroom_free_after_all(headroom_allocator* handle, void* block) {
  return status_of([&]() -> Status {
    HEADROOM_TRY(State* const state, use(handle));
    if (block == nullptr) return Done{};
    return free_after(*state, block, state->streams.all());
  });
}

headroom_result headroom_retag(headroom_allocator* handle, void* block, uint16_t component) {
  return status_of([&] {
    return with_block(handle, block, [&](State& state, allocator::Address address) -> Status {
      HEADROOM_TRY(const allocator::Component tag, component_of(component));
      state.allocator.retag(address, tag);
      return Done{};
    });
  });
}

headroom_result headroom_record_stream(headroom_allocator* handle, void* block,
                                       headroom_stream stream) {
  return status_of([&] {
    return with_block(handle, block, [&](State& state, allocator::Address address) -> Status {
      HEADROOM_TRY(const allocator::StreamId id, stream_of(state, stream));
      state.allocator.record_stream(address, id);
      return Done{};
    });
  });
}

headroom_result headroom_synchronize(headroom_allocator* handle, headroom_stream stream) {
  return status_of([&]() -> Status {
    HEADROOM_TRY(State* const state, use(handle));
    const allocator::StreamId id = state->streams.find(stream);
    if (id != 0 || stream == nullptr) state->allocator.synchronize(id);
    return Done{};
  });
}

headroom_result headroom_forget_stream(headroom_allocator* handle, headroom_stream stream) {
  return status_of([&]() -> Status {
    HEADROOM_TRY(State* const state, use(handle));
    const allocator::StreamId id = state->streams.find(stream);
    if (id == 0) return Done{};
    state->allocator.synchronize(id);
    // Blocks of the stream that are freed later still have its number, and a stream that was
    // destroyed must not be asked about. The default stream is always there.
    state->allocator.bind_stream(id, 0);
    state->streams.forget(id);
    return Done{};
  });
}

headroom_result headroom_begin_pool(headroom_allocator* handle, uint64_t pool,
                                    headroom_stream stream) {
  return status_of([&]() -> Status {
    HEADROOM_TRY(State* const state, use(handle));
    HEADROOM_TRY(const allocator::StreamId id, stream_of(*state, stream));
    return state->allocator.begin_pool(pool, id);
  });
}

headroom_result headroom_end_pool(headroom_allocator* handle, uint64_t pool) {
  return status_of([&]() -> Status {
    HEADROOM_TRY(State* const state, use(handle));
    return state->allocator.end_pool(pool);
  });
}

headroom_result headroom_release_pool(headroom_allocator* handle, uint64_t pool) {
  return status_of([&]() -> Status {
    HEADROOM_TRY(State* const state, use(handle));
    return state->allocator.release_pool(pool);
  });
}
