// SPDX-License-Identifier: Apache-2.0
// A stand-in for libcuda: devices, contexts and memory. A context is a device's number from 1; a
// thread has a stack of them. cuda_runtime.cpp is built on these functions, as CUDA's own runtime
// is on its driver.
#include "stand_ins/cuda_driver.h"

#include <array>
#include <cstdlib>
#include <vector>

#include "allocator/backends/cuda_api.h"
#include "stand_ins/stand_in.h"

using namespace headroom;
using namespace headroom::stand_ins;
using Cuda = allocator::CudaApi;

namespace {

std::vector<void*>& contexts() {
  thread_local std::vector<void*> stack;
  return stack;
}

void use_top() {
  thread_state().device = contexts().empty() ? -1 : static_cast<int>(number(contexts().back())) - 1;
}

bool is_this_device(const Cuda::Location& location) {
  return location.type == Cuda::device_location && location.id == thread_state().device;
}

bool is_device(int device) {
  return device >= 0 && device < device_count();
}

void* context_of(int device) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(device) + 1);
}

int& retained(int device) {
  static std::array<int, 256> counts{};
  return counts.at(static_cast<std::size_t>(device));
}

}  // namespace

extern "C" {

std::uint64_t fake_gpu_count(int device, const char* what) {
  return count_of(gpu_of(device), what);
}
void fake_gpu_refuse(int device, std::uint64_t nth) {
  gpu_of(device).refuse_allocation(nth);
}
int fake_gpu_of(const void* address) {
  for (int device = 0; device < device_count(); ++device)
    if (gpu_of(device).owns(number(address))) return device;
  return -1;
}
int fake_gpu_is_pinned(const void* address) {
  return pinned_memory().contains(number(address)) ? 1 : 0;
}

int cuInit(unsigned flags) {
  return flags == 0 ? success : invalid_value;
}
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return success;
}
int cuDeviceGetCount(int* count) {
  *count = device_count();
  return success;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return is_device(ordinal) ? success : invalid_device;
}
int cuDeviceGetName(char* name, int size, int /*device*/) {
  copy_text(name, size, "a fake GPU");
  return success;
}
int cuDeviceGetPCIBusId(char* address, int size, int device) {
  if (!is_device(device)) return invalid_device;
  copy_text(address, size, pci_address(device));
  return success;
}
int cuDeviceGetAttribute(int* value, int attribute, int /*device*/) {
  *value = attribute == Cuda::virtual_memory_attribute ? 1 : 0;
  return success;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  return on_gpu(device, [&](auto& gpu) {
    auto info = gpu.memory_info();
    if (info) *bytes = info->total_bytes;
    return info;
  });
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  if (!is_device(device)) return invalid_device;
  ++retained(device);
  *context = context_of(device);
  return success;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
  return retained(device)-- > 0 ? success : invalid_value;
}
int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* is_active) {
  *flags = 0;
  *is_active = retained(device) > 0 ? 1 : 0;
  return success;
}
int cuCtxGetCurrent(void** context) {
  *context = contexts().empty() ? nullptr : contexts().back();
  return success;
}
int cuCtxSetCurrent(void* context) {
  if (!contexts().empty()) contexts().pop_back();
  if (context != nullptr) contexts().push_back(context);
  use_top();
  return success;
}
int cuCtxGetDevice(int* device) {
  *device = thread_state().device;
  return *device < 0 ? invalid_device : success;
}
int cuCtxPushCurrent_v2(void* context) {
  contexts().push_back(context);
  use_top();
  return success;
}
int cuCtxPopCurrent_v2(void** context) {
  if (contexts().empty()) return invalid_value;
  *context = contexts().back();
  contexts().pop_back();
  use_top();
  return success;
}
int cuGetErrorName(int code, const char** name) {
  *name = code == out_of_memory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_INVALID_VALUE";
  return success;
}
int cuGetErrorString(int code, const char** text) {
  *text = code == out_of_memory ? "out of memory" : "an error of the stand-in";
  return success;
}
int cuThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(*mode, thread_state().capture_mode);
  return success;
}

int cuMemAddressReserve(unsigned long long* out, std::size_t bytes, std::size_t alignment,
                        unsigned long long hint, unsigned long long flags) {
  if (hint != 0 || flags != 0) return invalid_value;
  return on_device(true, out, [&](auto& gpu) { return gpu.reserve(bytes, alignment); });
}
int cuMemAddressFree(unsigned long long address, std::size_t bytes) {
  return on_device(true, [&](auto& gpu) { return gpu.free_range(address, bytes); });
}
int cuMemCreate(unsigned long long* out, std::size_t bytes, const Cuda::PageProperties* wanted,
                unsigned long long flags) {
  if (wanted->type != Cuda::pinned || wanted->handle_type != 0 ||
      !is_this_device(wanted->location) || flags != 0)
    return invalid_value;
  return on_device(true, out, [&](auto& gpu) { return gpu.create_pages(bytes); });
}
int cuMemRelease(unsigned long long page) {
  return on_device(true, [&](auto& gpu) { return gpu.destroy_pages(page); });
}
int cuMemMap(unsigned long long address, std::size_t bytes, std::size_t offset,
             unsigned long long page, unsigned long long flags) {
  if (offset != 0 || flags != 0) return invalid_value;
  return on_device(true, [&](auto& gpu) { return gpu.map(address, bytes, page); });
}
int cuMemSetAccess(unsigned long long address, std::size_t bytes, const Cuda::Access* access,
                   std::size_t count) {
  if (count != 1 || !is_this_device(access->location) || access->flags != Cuda::read_write)
    return invalid_value;
  return on_device(true, [&](auto& gpu) { return gpu.set_access(address, bytes); });
}
int cuMemUnmap(unsigned long long address, std::size_t bytes) {
  return on_device(true, [&](auto& gpu) { return gpu.unmap(address, bytes); });
}
int cuMemGetAllocationGranularity(std::size_t* bytes, const Cuda::PageProperties* /*wanted*/,
                                  int /*option*/) {
  *bytes = 2 << 20;
  return success;
}

int cuMemAlloc_v2(unsigned long long* out, std::size_t bytes) {
  if (bytes == 0) return invalid_value;
  return on_device(true, out, [&](auto& gpu) { return gpu.allocate(bytes); });
}
int cuMemFree_v2(unsigned long long address) {
  if (is_unsafe_now()) return capture_unsupported;
  const int owner = fake_gpu_of(reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)));
  if (owner < 0) return invalid_value;
  return on_gpu(owner, [&](auto& gpu) { return gpu.release(address); });
}
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return on_device(true, [&](auto& gpu) {
    auto info = gpu.memory_info();
    if (info) *free = info->free_bytes;
    if (info) *total = info->total_bytes;
    return info;
  });
}
int cuMemHostAlloc(void** out, std::size_t bytes, unsigned /*flags*/) {
  *out = std::aligned_alloc(4096, (bytes + 4096) / 4096 * 4096);
  if (*out == nullptr) return out_of_memory;
  pinned_memory().add(number(*out), bytes);
  return success;
}
int cuMemFreeHost(void* memory) {
  if (!pinned_memory().remove(number(memory))) return invalid_value;
  std::free(memory);  // NOLINT: of aligned_alloc().
  return success;
}
int cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned /*flags*/) {
  pinned_memory().add(number(memory), bytes);
  return success;
}
int cuMemHostUnregister(void* memory) {
  return pinned_memory().remove(number(memory)) ? success : invalid_value;
}

int cuMemcpyHtoD_v2(unsigned long long to, const void* from, std::size_t bytes) {
  return on_device(true, [&](auto& gpu) { return gpu.copy_now(to, number(from), bytes); });
}
int cuMemcpyDtoH_v2(void* to, unsigned long long from, std::size_t bytes) {
  return on_device(true, [&](auto& gpu) { return gpu.copy_now(number(to), from, bytes); });
}
int cuMemcpyDtoD_v2(unsigned long long to, unsigned long long from, std::size_t bytes) {
  return on_device(true, [&](auto& gpu) { return gpu.copy(0, to, from, bytes); });
}
int cuMemcpy(unsigned long long to, unsigned long long from, std::size_t bytes) {
  return on_device(true, [&](auto& gpu) { return gpu.copy_now(to, from, bytes); });
}
int cuMemsetD32_v2(unsigned long long to, unsigned word, std::size_t count) {
  return on_device(true, [&](auto& gpu) { return gpu.fill(0, to, count * 4, word, 4); });
}
int cuMemsetD8_v2(unsigned long long to, unsigned char value, std::size_t bytes) {
  return on_device(true, [&](auto& gpu) { return gpu.fill(0, to, bytes, value, 1); });
}

}  // extern "C"
