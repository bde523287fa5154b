// SPDX-License-Identifier: Apache-2.0
// Usage, statistics and giving memory back, for C.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "allocator/backends/host_memory.h"
#include "allocator/c_api/handle.h"
#include "allocator/c_api/last_error.h"

namespace headroom::allocator::c_api {
namespace {

// Fills as much of the struct as the caller, who may be older, has room for. `least` is the size of
// the first version's struct.
template <class Struct>
Status fill(Struct* to, Struct from, const char* name, std::size_t least) {
  if (to == nullptr || to->size < least)
    return Error{
        Errc::invalid,
        fmt::format("expected a {} of {} bytes or more with its size in the first member, "
                    "found {}",
                    name, least, to == nullptr ? "a null pointer" : fmt::to_string(to->size)),
        "begin with its _INIT macro"};
  from.size = to->size;
  std::memcpy(to, &from, std::min(to->size, sizeof from));
  return Done{};
}

headroom_usage to_c(const Usage& usage, std::uint64_t capacity) {
  headroom_usage c = HEADROOM_USAGE_INIT;
  c.capacity_bytes = capacity;
  c.live_bytes = usage.live_bytes;
  c.live_peak_bytes = usage.live_peak_bytes;
  c.reserved_bytes = usage.reserved_bytes;
  c.reserved_peak_bytes = usage.reserved_peak_bytes;
  for (std::size_t i = 0; i < component_count; ++i) {
    c.live_by_component[i] = usage.live[all_components.at(i)];
    c.live_at_peak[i] = usage.live_at_peak[all_components.at(i)];
  }
  c.device_calls = usage.device_calls;
  return c;
}

headroom_stats to_c(const MissCounts& misses, const PlanCounts& plans) {
  headroom_stats c = HEADROOM_STATS_INIT;
  c.growths = misses.growths;
  c.repairs = misses.repairs;
  c.moved_pages = misses.moved_pages;
  c.flushes = misses.flushes;
  c.waits = misses.waits;
  c.misused = misses.foreign_frees;
  c.iterations = plans.iterations;
  c.plans = plans.plans;
  c.planned = plans.planned;
  c.broken_plans = plans.broken;
  return c;
}

// What the capacity leaves, or what may still be taken of the device beside what is idle already.
Result<std::uint64_t> room_of(State& state) {
  const auto difference = [](std::uint64_t of, std::uint64_t used) {
    return of - std::min(of, used);
  };
  const Usage usage = state.allocator.usage_snapshot();
  const std::uint64_t idle = difference(usage.reserved_bytes, usage.live_bytes);
  std::uint64_t room = difference(state.allocator.capacity_bytes(), usage.live_bytes);
  if (state.budget) {
    HEADROOM_TRY(const BudgetState shared, state.budget->state());
    room = std::min(room, idle + shared.available_bytes);
  }
  if (state.system_guard) {
    const auto left = state.system_guard->left();
    if (left) room = std::min(room, idle + *left);
  }
  return room;
}

static_assert(component_count == HEADROOM_COMPONENTS);

}  // namespace
}  // namespace headroom::allocator::c_api

using namespace headroom::allocator::c_api;  // NOLINT(google-build-using-namespace)
using headroom::Done;
using headroom::Errc;
using headroom::Error;
using headroom::Status;

headroom_result headroom_find_block(headroom_allocator* handle, const void* pointer,
                                    headroom_block* block) {
  return status_of([&]() -> Status {
    HEADROOM_TRY(State* const state, use(handle));
    const auto found = state->allocator.block_around(address_of(pointer));
    if (!found)
      return Error{Errc::invalid,
                   fmt::format("expected a pointer into a live block, found {}", fmt::ptr(pointer)),
                   "ask the device: the memory is not this allocator's"};
    headroom_block answer = HEADROOM_BLOCK_INIT;
    answer.base = pointer_to(found->address);
    answer.bytes = found->bytes;
    return fill(block, answer, "headroom_block", sizeof(headroom_block));
  });
}

headroom_result headroom_trim(headroom_allocator* handle, uint64_t* returned) {
  return status_of([&]() -> Status {
    HEADROOM_TRY(State* const state, use(handle));
    const std::uint64_t bytes = state->allocator.trim();
    if (returned != nullptr) *returned = bytes;
    return Done{};
  });
}

headroom_result headroom_set_capacity(headroom_allocator* handle, uint64_t bytes) {
  return status_of([&]() -> Status {
    HEADROOM_TRY(State* const state, use(handle));
    state->allocator.set_capacity(bytes);
    return Done{};
  });
}

headroom_result headroom_get_usage(headroom_allocator* handle, headroom_usage* usage) {
  return status_of([&]() -> Status {
    HEADROOM_TRY(State* const state, use(handle));
    const auto& core = state->allocator;
    return fill(usage, to_c(core.usage_snapshot(), core.capacity_bytes()), "headroom_usage",
                sizeof(headroom_usage));
  });
}

headroom_result headroom_get_room(headroom_allocator* handle, uint64_t* bytes) {
  return status_of([&]() -> Status {
    HEADROOM_TRY(State* const state, use(handle));
    if (bytes == nullptr)
      return Error{Errc::invalid, "expected a place for the answer, found a null pointer", ""};
    HEADROOM_TRY(*bytes, room_of(*state));
    return Done{};
  });
}

headroom_result headroom_get_machine_room(headroom_allocator* handle, uint64_t* bytes) {
  return status_of([&]() -> Status {
    HEADROOM_TRY(State* const state, use(handle));
    if (bytes == nullptr)
      return Error{Errc::invalid, "expected a place for the answer, found a null pointer", ""};
    HEADROOM_TRY(*bytes, headroom::allocator::read_machine_room(state->kept_of_ram));
    return Done{};
  });
}

headroom_result headroom_reset_peaks(headroom_allocator* handle) {
  return status_of([&]() -> Status {
    HEADROOM_TRY(State* const state, use(handle));
    state->allocator.reset_peaks();
    return Done{};
  });
}

headroom_result headroom_get_stats(headroom_allocator* handle, headroom_stats* stats) {
  return status_of([&]() -> Status {
    HEADROOM_TRY(State* const state, use(handle));
    const auto& core = state->allocator;
    return fill(stats, to_c(core.miss_counts(), core.plan_counts()), "headroom_stats",
                sizeof(headroom_stats));
  });
}
