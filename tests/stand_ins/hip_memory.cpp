// SPDX-License-Identifier: Apache-2.0
// The stand-in for libamdhip64: memory as programs take it, beside hipMalloc(): of the host,
// managed, from pools, and shared with other processes.
#include <cstdlib>
#include <cstring>

#include "stand_ins/hip.h"

using namespace headroom::stand_ins;

namespace {

constexpr std::size_t page = 4096;
// hipMemoryType of ROCm 6 and 7.
constexpr int unregistered = 0;
constexpr int host_memory = 1;
constexpr int device_memory = 2;

struct PointerAttributes {  // hipPointerAttribute_t
  int type = unregistered;
  int device = 0;
  const void* device_pointer = nullptr;
  const void* host_pointer = nullptr;
  int is_managed = 0;
  unsigned flags = 0;
};

// Handles of pools: a device's own is its number here; others are made. hipMemPoolProps is not
// read.
constexpr std::uintptr_t own_pools = 0x10000;
constexpr std::uintptr_t made_pools = 0x20000;
std::uintptr_t last_made_pool = made_pools;
std::uintptr_t current_pools[256];

int wait_for_all() {
  for (int device = 0; device < device_count(); ++device) {
    const int code = on_gpu(device, [](auto& gpu) { return gpu.wait_for_device(); });
    if (code != success) return code;
  }
  return success;
}

// Called by no public name: somebody may have put another function in its place.
int allocate(void** out, std::size_t bytes) {
  choose_device();
  if (bytes == 0) {
    *out = nullptr;
    return success;
  }
  return noted(on_device(true, out, [&](auto& gpu) { return gpu.allocate(bytes); }));
}

void* handle(std::uintptr_t value) {
  return reinterpret_cast<void*>(value);  // NOLINT: a number's
}

}  // namespace

extern "C" {

int hipMalloc(void** out, std::size_t bytes) {
  return allocate(out, bytes);
}
int hipExtMallocWithFlags(void** out, std::size_t bytes, unsigned /*flags*/) {
  return allocate(out, bytes);
}
int hipMallocManaged(void** out, std::size_t bytes, unsigned /*flags*/) {
  return allocate(out, bytes);
}
int hipFree(void* address) {
  if (address == nullptr) return success;
  return noted(on_device(true, [&](auto& gpu) { return gpu.release(number(address)); }));
}
int hipMemGetInfo(std::size_t* free, std::size_t* total) {
  choose_device();
  return noted(on_device(true, [&](auto& gpu) {
    auto info = gpu.memory_info();
    *free = info->free_bytes;
    *total = info->total_bytes;
    return info;
  }));
}
int hipPointerGetAttributes(PointerAttributes* out, const void* pointer) {
  *out = {};
  for (int device = 0; device < device_count(); ++device)
    if (gpu_of(device).owns(number(pointer)))
      *out = {device_memory, device, pointer, nullptr, 0, 0};
  if (pinned_memory().contains(number(pointer))) *out = {host_memory, 0, pointer, pointer, 0, 0};
  return success;
}

int hipHostMalloc(void** out, std::size_t bytes, unsigned /*flags*/) {
  *out = std::aligned_alloc(page, (bytes / page + 1) * page);
  if (*out == nullptr) return noted(out_of_memory);
  pinned_memory().add(number(*out), bytes);
  return success;
}
// Waits for the GPUs, which may have work queued that uses the memory.
int hipHostFree(void* memory) {
  if (memory == nullptr) return success;
  if (const int code = wait_for_all(); code != success) return noted(code);
  if (!pinned_memory().remove(number(memory))) return noted(invalid_value);
  std::free(memory);
  return success;
}
int hipFreeHost(void* memory) {
  return hipHostFree(memory);
}
int hipHostRegister(void* memory, std::size_t bytes, unsigned /*flags*/) {
  pinned_memory().add(number(memory), bytes);
  return success;
}
int hipHostUnregister(void* memory) {
  if (const int code = wait_for_all(); code != success) return noted(code);
  return pinned_memory().remove(number(memory)) ? success : noted(invalid_value);
}

// Without memory of their own: what is freed on a stream goes when its work is done, which is
// waited for.
int hipMallocAsync(void** out, std::size_t bytes, void* /*stream*/) {
  return allocate(out, bytes);
}
int hipMallocFromPoolAsync(void** out, std::size_t bytes, void* /*pool*/, void* /*stream*/) {
  return allocate(out, bytes);
}
int hipFreeAsync(void* address, void* stream) {
  return noted(on_device_of(stream, [&](auto& gpu) -> headroom::Status {
    HEADROOM_CHECK(gpu.wait_for_stream(number(stream)));
    return gpu.release(number(address));
  }));
}
int hipDeviceGetDefaultMemPool(void** out, int device) {
  if (device < 0 || device >= device_count()) return noted(invalid_device);
  *out = handle(own_pools + static_cast<unsigned>(device));
  return success;
}
int hipDeviceGetMemPool(void** out, int device) {
  if (device < 0 || device >= device_count()) return noted(invalid_device);
  const std::uintptr_t current = current_pools[device];
  *out = handle(current == 0 ? own_pools + static_cast<unsigned>(device) : current);
  return success;
}
int hipDeviceSetMemPool(int device, void* pool) {
  if (device < 0 || device >= device_count()) return noted(invalid_device);
  current_pools[device] = number(pool);
  return success;
}
int hipMemPoolCreate(void** out, const void* /*properties*/) {
  *out = handle(++last_made_pool);
  return success;
}
int hipMemPoolDestroy(void* /*pool*/) {
  return success;
}
int hipMemPoolSetAccess(void* /*pool*/, const void* /*accesses*/, std::size_t /*count*/) {
  return success;
}

int hipDeviceReset() {
  choose_device();
  return noted(on_device(true, [&](auto& gpu) { return gpu.reset(); }));
}

// The handle is the address: only one process has the memory.
int hipIpcGetMemHandle(void* out, void* address) {
  std::memset(out, 0, 64);
  std::memcpy(out, &address, sizeof address);
  return success;
}

}  // extern "C"
