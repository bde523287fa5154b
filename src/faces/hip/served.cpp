// SPDX-License-Identifier: Apache-2.0
#include "faces/hip/served.h"

#include <optional>
#include <string_view>
#include <utility>

#include "faces/hip/blocks.h"
#include "faces/hip/device_memory.h"
#include "faces/hip/process.h"

namespace headroom::hip_face::served {
namespace {

// An allocation that is the runtime's, which counts.
template <class... Parameters, class... Arguments>
int pass_on(int (*function)(Parameters...), Arguments... arguments) {
  if (!this_thread().inside) counts().passed_on.fetch_add(1, std::memory_order_relaxed);
  return call(function, arguments...);
}

// The runtime's error, or else ours, both of which are forgotten.
int taken_error(int (*take)()) {
  const int of_runtime = take == nullptr ? success : call(take);
  const int own = std::exchange(this_thread().error, success);
  return of_runtime != success ? of_runtime : own;
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

}  // namespace

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

int hipHostFree(void* memory) {
  Process& all = process();
  if (const auto code = release(all, memory)) return *code;
  return call(all.runtime.release_host, memory);
}

int hipFreeHost(void* memory) {
  Process& all = process();
  if (const auto code = release(all, memory)) return *code;
  return call(all.runtime.release_host_old, memory);
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
      call(all.runtime.get_device, &device) == success && all.gpus.get(device) != nullptr) {
    const Inside inside;
    all.gpus.reset(device);
    all.blocks.forget(device);
    all.host_route.forget(device);
  }
  return call(all.runtime.reset_device);
}

int hipMemGetInfo(std::size_t* free, std::size_t* total) {
  const Process& all = process();
  const bool is_inside = this_thread().inside;
  const int code = call(all.runtime.memory_info, free, total);
  if (code == success && !is_inside) correct_memory_info(all, free, total);
  return code;
}

int hipDeviceTotalMem(std::size_t* bytes, int device) {
  const Process& all = process();
  const int code = call(all.runtime.total_memory, bytes, device);
  if (code == success && bytes != nullptr) *bytes = all_memory(all, device, *bytes);
  return code;
}

int hipGetDeviceProperties(void* properties, int device) {
  const Process& all = process();
  const int code = call(all.runtime.properties, properties, device);
  if (code == success) correct_properties(all, properties, place_r0000, device);
  return code;
}

int hipGetDevicePropertiesR0000(void* properties, int device) {
  const Process& all = process();
  const int code = call(all.runtime.properties_r0000, properties, device);
  if (code == success) correct_properties(all, properties, place_r0000, device);
  return code;
}

int hipGetDevicePropertiesR0600(void* properties, int device) {
  const Process& all = process();
  const int code = call(all.runtime.properties_r0600, properties, device);
  if (code == success) correct_properties(all, properties, place_r0600, device);
  return code;
}

int hipGetLastError() {
  return taken_error(process().runtime.take_error);
}

int hipExtGetLastError() {
  return taken_error(process().runtime.take_error_ext);
}

int hipPeekAtLastError() {
  const auto peek = process().runtime.peek_error;
  const int of_runtime = peek == nullptr ? success : call(peek);
  return of_runtime != success ? of_runtime : this_thread().error;
}

int hipGetProcAddress(const char* name, void** out, int version, std::uint64_t flags,
                      void* status) {
  const int code = call(process().runtime.get_address, name, out, version, flags, status);
  if (code != success || name == nullptr || out == nullptr) return code;
  std::string_view asked = name;
  // The versions of both are 100 times the major number and more (ROCm/clr: hip_device.cpp).
  if (asked == "hipGetDeviceProperties" && version >= 600) asked = "hipGetDevicePropertiesR0600";
  if (void* const ours = find_interposed(asked); ours != nullptr) *out = ours;
  return code;
}

}  // namespace headroom::hip_face::served
