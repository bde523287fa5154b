// SPDX-License-Identifier: Apache-2.0
// The functions of HIP that headroom's allocator serves.
#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "faces/hip/blocks.h"
#include "faces/hip/headroom_hip.h"
#include "faces/hip/interposed_names.h"
#include "faces/hip/process.h"

namespace headroom::hip_face {
namespace {

// What the runtime has no function for is an error of HIP's.
template <class... Parameters, class... Arguments>
int call(int (*function)(Parameters...), Arguments... arguments) {
  const Inside inside;  // The runtime may call its own public functions.
  return function == nullptr ? not_initialized : function(arguments...);
}

// The same of an allocation, which counts.
template <class... Parameters, class... Arguments>
int pass_on(int (*function)(Parameters...), Arguments... arguments) {
  if (!this_thread().inside) counts().passed_on.fetch_add(1, std::memory_order_relaxed);
  return call(function, arguments...);
}

// The device whose own pool this is; -1 if it is none's.
int own_pool_of(const Process& all, const void* pool) {
  const Inside inside;
  int count = 0;
  if (all.runtime.default_pool == nullptr || all.runtime.device_count == nullptr ||
      all.runtime.device_count(&count) != success)
    return -1;
  for (int device = 0; device < count; ++device) {
    void* own = nullptr;
    if (all.runtime.default_pool(&own, device) == success && own == pool) return device;
  }
  return -1;
}

// What the allocator itself calls: the runtime's functions, watched.
int take_piece(void** out, std::size_t bytes) {
  const Inside inside;
  Process& all = process();
  const int code = all.runtime.allocate(out, bytes);
  if (code == success) all.blocks.add_piece(number(*out), bytes);
  return code;
}

int give_piece(void* piece) {
  const Inside inside;
  Process& all = process();
  all.blocks.remove_piece(number(piece));
  return all.runtime.release(piece);
}

}  // namespace

void* find_interposed(std::string_view name) {
#define HEADROOM_PAIR(function) {#function, reinterpret_cast<void*>(&::function)},
  const std::pair<std::string_view, void*> functions[] = {HEADROOM_INTERPOSED(HEADROOM_PAIR)};
#undef HEADROOM_PAIR
  for (const auto& [known, function] : functions)
    if (known == name) return function;
  return nullptr;
}

void* find_watched(std::string_view name) {
  if (name == "hipMalloc") return reinterpret_cast<void*>(&take_piece);
  if (name == "hipFree") return reinterpret_cast<void*>(&give_piece);
  return nullptr;
}

}  // namespace headroom::hip_face

using namespace headroom::hip_face;  // NOLINT(google-build-using-namespace)

int hipMalloc(void** out, std::size_t bytes) {
  Process& all = process();
  if (const auto code = allocate(all, out, bytes)) return *code;
  return pass_on(all.runtime.allocate, out, bytes);
}

int hipExtMallocWithFlags(void** out, std::size_t bytes, unsigned flags) {
  Process& all = process();
  if (flags == 0)
    if (const auto code = allocate(all, out, bytes)) return *code;
  return pass_on(all.runtime.allocate_with_flags, out, bytes, flags);
}

int hipMallocAsync(void** out, std::size_t bytes, void* stream) {
  Process& all = process();
  if (const auto code = allocate_on_stream(all, out, bytes, nullptr, stream)) return *code;
  return pass_on(all.runtime.allocate_async, out, bytes, stream);
}

int hipMallocFromPoolAsync(void** out, std::size_t bytes, void* pool, void* stream) {
  Process& all = process();
  if (pool != nullptr)
    if (const auto code = allocate_on_stream(all, out, bytes, pool, stream)) return *code;
  return pass_on(all.runtime.allocate_from_pool, out, bytes, pool, stream);
}

int hipFree(void* block) {
  Process& all = process();
  if (const auto code = release(all, block)) return *code;
  return call(all.runtime.release, block);
}

int hipFreeAsync(void* block, void* stream) {
  Process& all = process();
  if (const auto code = release_on_stream(all, block, stream)) return *code;
  return call(all.runtime.release_async, block, stream);
}

int hipStreamDestroy(void* stream) {
  Process& all = process();
  if (const int code = forget_stream(all, stream); code != success) return code;
  return call(all.runtime.destroy_stream, stream);
}

int hipMemPoolSetAccess(void* pool, const void* accesses, std::size_t count) {
  Process& all = process();
  const int device = own_pool_of(all, pool);
  if (device >= 0 && !all.gpus.share_pool(device)) return noted(not_supported);
  return call(all.runtime.share_pool, pool, accesses, count);
}

int hipIpcGetMemHandle(void* handle, void* address) {
  Process& all = process();
  if (is_ours(all, address)) return noted(not_supported);
  return call(all.runtime.export_memory, handle, address);
}

int hipDeviceReset() {
  Process& all = process();
  int device = -1;
  if (all.runtime.is_usable() && !all.is_child && !this_thread().inside &&
      all.runtime.get_device(&device) == success && all.gpus.get(device) != nullptr) {
    const Inside inside;
    all.gpus.reset(device);
    all.blocks.forget(device);
  }
  return call(all.runtime.reset_device);
}

int hipMemGetInfo(std::size_t* free, std::size_t* total) {
  const Process& all = process();
  if (all.runtime.memory_info == nullptr) return not_initialized;
  const int code = all.runtime.memory_info(free, total);
  int device = -1;
  if (code != success || free == nullptr || this_thread().inside || !all.runtime.is_usable() ||
      all.runtime.get_device(&device) != success)
    return code;
  headroom_usage usage = HEADROOM_USAGE_INIT;
  headroom_allocator* const allocator = all.gpus.get(device);
  std::uint64_t room = 0;
  if (allocator == nullptr || headroom_get_usage(allocator, &usage) != HEADROOM_OK ||
      headroom_get_room(allocator, &room) != HEADROOM_OK)
    return code;
  const std::uint64_t idle =
      usage.reserved_bytes - std::min(usage.reserved_bytes, usage.live_bytes);
  *free = std::min<std::uint64_t>(*free + idle, room);
  return code;
}

int hipGetLastError() {
  const auto take = process().runtime.take_error;
  const int of_runtime = take == nullptr ? success : take();
  const int own = std::exchange(this_thread().error, success);
  return of_runtime != success ? of_runtime : own;
}

int hipPeekAtLastError() {
  const auto peek = process().runtime.peek_error;
  const int of_runtime = peek == nullptr ? success : peek();
  return of_runtime != success ? of_runtime : this_thread().error;
}

int hipGetProcAddress(const char* name, void** out, int version, std::uint64_t flags,
                      void* status) {
  const auto find = process().runtime.get_address;
  if (find == nullptr) return not_initialized;
  const int code = find(name, out, version, flags, status);
  if (code != success || name == nullptr || out == nullptr) return code;
  if (void* const ours = find_interposed(name); ours != nullptr) *out = ours;
  return code;
}

int headroom_hip_get_counts(HeadroomHipCounts* out) {
  if (out == nullptr || out->size != sizeof *out) return 1;
  const Counts& from = counts();
  *out = {sizeof *out,        from.allocations,   from.frees,
          from.out_of_memory, from.refused_frees, from.passed_on};
  return 0;
}
