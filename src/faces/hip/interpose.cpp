// SPDX-License-Identifier: Apache-2.0
// What is found under HIP's names.
#include <string_view>
#include <utility>

#include "faces/hip/headroom_hip.h"
#include "faces/hip/interposed_names.h"
#include "faces/hip/process.h"
#include "faces/hip/served.h"
#include "faces/hip/table.h"

namespace headroom::hip_face {
namespace {

// What the allocator itself calls: the runtime's functions, watched.
int take_piece(void** out, std::size_t bytes) {
  Process& all = process();
  const int code = call(all.runtime.allocate, out, bytes);
  if (code == success) all.blocks.add_piece(number(*out), bytes);
  return code;
}

int give_piece(void* piece) {
  Process& all = process();
  all.blocks.remove_piece(number(piece));
  return call(all.runtime.release, piece);
}

// And those of which ours ask the allocator, which the runtime's table would lead to.
int ask_memory(std::size_t* free, std::size_t* total) {
  return call(process().runtime.memory_info, free, total);
}
int take_error() {
  return call(process().runtime.take_error);
}
int peek_error() {
  return call(process().runtime.peek_error);
}

using Pairs = std::pair<std::string_view, void*>;

template <std::size_t n>
void* find(const Pairs (&functions)[n], std::string_view name) {
  for (const auto& [known, function] : functions)
    if (known == name) return function;
  return nullptr;
}

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

void* find_interposed(std::string_view name) {
#define HEADROOM_PAIR(function, place) {#function, address(&::function)},
  const Pairs functions[] = {HEADROOM_INTERPOSED(HEADROOM_PAIR)};
#undef HEADROOM_PAIR
  return find(functions, name);
}

void* find_watched(std::string_view name) {
  const Pairs functions[] = {{"hipMalloc", address(&take_piece)},
                             {"hipFree", address(&give_piece)},
                             {"hipMemGetInfo", address(&ask_memory)},
                             {"hipGetLastError", address(&take_error)},
                             {"hipPeekAtLastError", address(&peek_error)}};
  return find(functions, name);
}

}  // namespace headroom::hip_face

using namespace headroom::hip_face;  // NOLINT(google-build-using-namespace)

int hipMalloc(void** out, std::size_t bytes) {
  return by_symbol<&served::hipMalloc>(process().runtime.allocate, out, bytes);
}

int hipExtMallocWithFlags(void** out, std::size_t bytes, unsigned flags) {
  return by_symbol<&served::hipExtMallocWithFlags>(process().runtime.allocate_with_flags, out,
                                                   bytes, flags);
}

int hipMallocAsync(void** out, std::size_t bytes, void* stream) {
  return by_symbol<&served::hipMallocAsync>(process().runtime.allocate_async, out, bytes, stream);
}

int hipMallocFromPoolAsync(void** out, std::size_t bytes, void* pool, void* stream) {
  return by_symbol<&served::hipMallocFromPoolAsync>(process().runtime.allocate_from_pool, out,
                                                    bytes, pool, stream);
}

int hipFree(void* block) {
  return by_symbol<&served::hipFree>(process().runtime.release, block);
}

int hipHostFree(void* memory) {
  return by_symbol<&served::hipHostFree>(process().runtime.release_host, memory);
}

int hipFreeHost(void* memory) {
  return by_symbol<&served::hipFreeHost>(process().runtime.release_host_old, memory);
}

int hipFreeAsync(void* block, void* stream) {
  return by_symbol<&served::hipFreeAsync>(process().runtime.release_async, block, stream);
}

int hipStreamDestroy(void* stream) {
  return by_symbol<&served::hipStreamDestroy>(process().runtime.destroy_stream, stream);
}

int hipMemPoolSetAccess(void* pool, const void* accesses, std::size_t count) {
  return by_symbol<&served::hipMemPoolSetAccess>(process().runtime.share_pool, pool, accesses,
                                                 count);
}

int hipIpcGetMemHandle(void* handle, void* address) {
  return by_symbol<&served::hipIpcGetMemHandle>(process().runtime.export_memory, handle, address);
}

int hipDeviceReset() {
  return by_symbol<&served::hipDeviceReset>(process().runtime.reset_device);
}

int hipMemGetInfo(std::size_t* free, std::size_t* total) {
  return by_symbol<&served::hipMemGetInfo>(process().runtime.memory_info, free, total);
}

int hipDeviceTotalMem(std::size_t* bytes, int device) {
  return by_symbol<&served::hipDeviceTotalMem>(process().runtime.total_memory, bytes, device);
}

int hipGetDeviceProperties(void* properties, int device) {
  return by_symbol<&served::hipGetDeviceProperties>(process().runtime.properties, properties,
                                                    device);
}

int hipGetDevicePropertiesR0000(void* properties, int device) {
  return by_symbol<&served::hipGetDevicePropertiesR0000>(process().runtime.properties_r0000,
                                                         properties, device);
}

int hipGetDevicePropertiesR0600(void* properties, int device) {
  return by_symbol<&served::hipGetDevicePropertiesR0600>(process().runtime.properties_r0600,
                                                         properties, device);
}

int hipGetLastError() {
  return by_symbol<&served::hipGetLastError>(process().runtime.take_error);
}

int hipExtGetLastError() {
  return by_symbol<&served::hipExtGetLastError>(process().runtime.take_error_ext);
}

int hipPeekAtLastError() {
  return by_symbol<&served::hipPeekAtLastError>(process().runtime.peek_error);
}

int hipGetProcAddress(const char* name, void** out, int version, std::uint64_t flags,
                      void* status) {
  return by_symbol<&served::hipGetProcAddress>(process().runtime.get_address, name, out, version,
                                               flags, status);
}

bool headroom_hip_take_table(const void* of_runtime, std::uint32_t version, void* table) {
  return take_table(of_runtime, version, table);
}

// NOLINTNEXTLINE(readability-function-size): so many parameters are AMD's.
int rocprofiler_register_library_api_table(const char* name, std::uint32_t (*import)(),
                                           std::uint32_t version, void** tables,
                                           std::uint64_t count, void* id) {
  if (name != nullptr && std::string_view(name) == "hip" && tables != nullptr && count == 1)
    static_cast<void>(take_table(reinterpret_cast<const void*>(import), version, tables[0]));
  const auto next = find_register(&::rocprofiler_register_library_api_table);
  return next == nullptr ? no_tools : next(name, import, version, tables, count, id);
}

int headroom_hip_get_counts(HeadroomHipCounts* out) {
  if (out == nullptr || out->size != sizeof *out) return 1;
  const Counts& from = counts();
  *out = {sizeof *out,        from.allocations,   from.frees,
          from.out_of_memory, from.refused_frees, from.passed_on};
  return 0;
}
