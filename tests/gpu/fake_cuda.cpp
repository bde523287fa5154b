// SPDX-License-Identifier: Apache-2.0
// A stand-in for libcuda: the functions that headroom calls, on fake GPUs. A context is a device's
// number from 1; a thread has a stack of them.
#include <cstring>
#include <vector>

#include "allocator/backends/cuda_api.h"
#include "gpu/fake_runtime.h"

using namespace headroom;
using namespace headroom::gpu;
using Cuda = allocator::CudaApi;

namespace {

std::uint64_t number(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

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

int retained[device_count] = {};

}  // namespace

extern "C" {

// What no driver has: what was asked of the fake so far.
std::uint64_t fake_virtual_memory_calls(int device) {
  return driver_of(device).virtual_memory_calls();
}
std::uint64_t fake_memory_info_calls(int device) {
  return driver_of(device).memory_info_calls();
}

int cuInit(unsigned flags) {
  return flags == 0 ? success : invalid_value;
}
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return success;
}
int cuDeviceGetCount(int* count) {
  *count = device_count;
  return success;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal >= 0 && ordinal < device_count ? success : invalid_device;
}
int cuDeviceGetName(char* name, int size, int /*device*/) {
  std::strncpy(name, "a fake GPU", static_cast<std::size_t>(size));
  return success;
}
int cuDeviceGetPCIBusId(char* address, int size, int device) {
  std::strncpy(address, pci_addresses.at(static_cast<std::size_t>(device)),
               static_cast<std::size_t>(size));
  return success;
}
int cuDeviceGetAttribute(int* value, int attribute, int /*device*/) {
  *value = attribute == Cuda::virtual_memory_attribute ? 1 : 0;
  return success;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  ++retained[device];
  *context = reinterpret_cast<void*>(static_cast<std::uintptr_t>(device) + 1);
  return success;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
  return retained[device]-- > 0 ? success : invalid_value;
}
int cuCtxGetCurrent(void** context) {
  *context = contexts().empty() ? nullptr : contexts().back();
  return success;
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
  return on_device(true, out, [&](auto& gpu) { return gpu.allocate(bytes); });
}
int cuMemFree_v2(unsigned long long address) {
  return on_device(true, [&](auto& gpu) { return gpu.release(address); });
}
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return on_device(true, [&](auto& gpu) {
    auto info = gpu.memory_info();
    *free = info->free_bytes;
    *total = info->total_bytes;
    return info;
  });
}
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, std::size_t bytes) {
  return on_device(true, [&](auto& gpu) { return gpu.copy_in(to, from, bytes); });
}
int cuMemcpyDtoH_v2(void* to, unsigned long long from, std::size_t bytes) {
  return on_device(true, [&](auto& gpu) { return gpu.copy_out(to, from, bytes); });
}
int cuMemcpyDtoD_v2(unsigned long long to, unsigned long long from, std::size_t bytes) {
  return on_device(true, [&](auto& gpu) { return gpu.copy(to, from, bytes); });
}
int cuMemsetD32_v2(unsigned long long to, unsigned word, std::size_t count) {
  return on_device(true, [&](auto& gpu) { return gpu.fill(to, count * 4, word); });
}

int cuCtxSynchronize() {
  return on_device(true, [&](auto& gpu) { return gpu.wait_for_device(); });
}
int cuStreamSynchronize(void* stream) {
  return on_device(true, [&](auto& gpu) { return gpu.wait_for_stream(number(stream)); });
}
int cuEventCreate(void** out, unsigned flags) {
  if (flags != Cuda::no_timing) return invalid_value;
  return on_device(false, out, [&](auto& gpu) { return gpu.create_event(); });
}
int cuEventRecord(void* event, void* stream) {
  return on_device(false,
                   [&](auto& gpu) { return gpu.record_event(number(event), number(stream)); });
}
int cuEventQuery(void* event) {
  bool passed = false;
  const int code =
      on_device(true, &passed, [&](auto& gpu) { return gpu.event_passed(number(event)); });
  return code == success && !passed ? not_ready : code;
}
int cuEventDestroy_v2(void* event) {
  return on_device(false, [&](auto& gpu) { return gpu.destroy_event(number(event)); });
}

}  // extern "C"
