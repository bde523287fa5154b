// SPDX-License-Identifier: Apache-2.0
// Blocks, streams and graphs for C.
#include <fmt/format.h>

#include <span>
#include <string_view>
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

// The long answer is headroom_explain()'s; programs that look for the largest batch fail often.
Error no_room(const HeadroomAllocator& allocator, std::uint64_t bytes) {
  const Usage usage = allocator.usage_snapshot();
  return {
      Errc::out_of_memory,
      fmt::format("expected room for {}, found {} live of at most {}", to_string(Bytes{bytes}),
                  to_string(Bytes{usage.live_bytes}), to_string(Bytes{allocator.capacity_bytes()})),
      "headroom_explain() says what holds it and what would have fitted"};
}

Result<void*> allocate(headroom_allocator* handle, std::uint64_t bytes, headroom_stream stream,
                       headroom_tag tag) {
  HEADROOM_CHECK(check(handle));
  HEADROOM_TRY(const Component component, component_of(tag.component));
  HEADROOM_TRY(const StreamId id, stream_of(*handle, stream));
  const auto address = handle->allocator.allocate({bytes, component, id, tag.name});
  if (!address) return no_room(handle->allocator, bytes);
  return pointer_to(*address);
}

Status free_after(headroom_allocator& handle, const void* block,
                  std::span<const StreamId> streams) {
  if (handle.allocator.free_after(address_of(block), streams)) return Done{};
  return no_live_block(block);
}

// Calls work(allocator, address) for a live block.
template <class Work>
Status with_block(headroom_allocator* handle, const void* block, Work&& work) {
  HEADROOM_CHECK(check(handle));
  if (!handle->allocator.block_bytes(address_of(block))) return no_live_block(block);
  return work(handle->allocator, address_of(block));
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
    HEADROOM_CHECK(check(handle));
    if (name == nullptr) return uint16_t{0};
    const std::size_t before = handle->names.size();
    const allocator::NameId id = handle->names.intern(name);
    if (handle->recorder && id > before) handle->recorder->add_names(handle->names);
    return id;
  });
}

void* headroom_allocate(headroom_allocator* handle, uint64_t bytes, headroom_stream stream,
                        headroom_tag tag) {
  return value_of<void*>(nullptr, [&] { return allocate(handle, bytes, stream, tag); });
}

headroom_result headroom_free(headroom_allocator* handle, void* block, headroom_stream stream) {
  return status_of([&]() -> Status {
    HEADROOM_CHECK(check(handle));
    if (block == nullptr) return Done{};
    HEADROOM_TRY(const allocator::StreamId id, stream_of(*handle, stream));
    return free_after(*handle, block, {&id, 1});
  });
}

headroom_result headroom_free_after_all(headroom_allocator* handle, void* block) {
  return status_of([&]() -> Status {
    HEADROOM_CHECK(check(handle));
    if (block == nullptr) return Done{};
    return free_after(*handle, block, handle->streams.all());
  });
}

headroom_result headroom_retag(headroom_allocator* handle, void* block, uint16_t component) {
  return status_of([&] {
    return with_block(handle, block, [&](auto& core, allocator::Address address) -> Status {
      HEADROOM_TRY(const allocator::Component tag, component_of(component));
      core.retag(address, tag);
      return Done{};
    });
  });
}

headroom_result headroom_record_stream(headroom_allocator* handle, void* block,
                                       headroom_stream stream) {
  return status_of([&] {
    return with_block(handle, block, [&](auto& core, allocator::Address address) -> Status {
      HEADROOM_TRY(const allocator::StreamId id, stream_of(*handle, stream));
      core.record_stream(address, id);
      return Done{};
    });
  });
}

headroom_result headroom_synchronize(headroom_allocator* handle, headroom_stream stream) {
  return status_of([&]() -> Status {
    HEADROOM_CHECK(check(handle));
    const allocator::StreamId id = handle->streams.find(stream);
    if (id != 0 || stream == nullptr) handle->allocator.synchronize(id);
    return Done{};
  });
}

headroom_result headroom_forget_stream(headroom_allocator* handle, headroom_stream stream) {
  return status_of([&]() -> Status {
    HEADROOM_CHECK(check(handle));
    const allocator::StreamId id = handle->streams.find(stream);
    if (id == 0) return Done{};
    handle->allocator.synchronize(id);
    handle->streams.forget(id);
    return Done{};
  });
}

headroom_result headroom_begin_pool(headroom_allocator* handle, uint64_t pool,
                                    headroom_stream stream) {
  return status_of([&]() -> Status {
    HEADROOM_CHECK(check(handle));
    HEADROOM_TRY(const allocator::StreamId id, stream_of(*handle, stream));
    return handle->allocator.begin_pool(pool, id);
  });
}

headroom_result headroom_end_pool(headroom_allocator* handle, uint64_t pool) {
  return status_of([&]() -> Status {
    HEADROOM_CHECK(check(handle));
    handle->allocator.end_pool(pool);
    return Done{};
  });
}

headroom_result headroom_release_pool(headroom_allocator* handle, uint64_t pool) {
  return status_of([&]() -> Status {
    HEADROOM_CHECK(check(handle));
    handle->allocator.release_pool(pool);
    return Done{};
  });
}
