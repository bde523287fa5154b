// SPDX-License-Identifier: Apache-2.0
// A stand-in for CUDA's runtime, libcudart, on the stand-in for its driver: devices and memory, as
// far as PyTorch's libraries ask for them. STAND_IN_CUDART is the version that it passes for, 12 or
// 13; structures are as cuda_runtime_api.h of that version has them.
#include "stand_ins/cuda_runtime.h"

#include <algorithm>
#include <array>
#include <cstring>

using namespace headroom::stand_ins;

namespace {

// The offsets of cudaDeviceProp's members. CUDA 13 left some members out, which moved others.
constexpr std::size_t properties_size = STAND_IN_CUDART == 12 ? 1032 : 1008;
constexpr std::size_t total_memory_at = 288;
constexpr std::size_t multiprocessors_at = STAND_IN_CUDART == 12 ? 388 : 384;

struct Member {
  std::size_t offset;
  int value;
};

// A card of compute capability 8.0, which PyTorch's wheels of both versions have code for.
constexpr Member members[] = {
    {304, 65536},  // regsPerBlock
    {308, 32},     // warpSize
    {320, 1024},   // maxThreadsPerBlock
    {324, 1024},   // maxThreadsDim
    {328, 1024},
    {332, 64},
    {336, 2147483647},  // maxGridSize
    {340, 65535},
    {344, 65535},
    {360, 8},  // major
    {multiprocessors_at, 108},
};
// Their places in CUDA 12 are not needed by anything that runs on this stand-in.
constexpr Member members_of_13[] = {
    {588, 1},         // unifiedAddressing
    {592, 5120},      // memoryBusWidth
    {596, 40 << 20},  // l2CacheSize
    {604, 2048},      // maxThreadsPerMultiProcessor
    {632, 65536},     // regsPerMultiprocessor
    {636, 1},         // managedMemory
};

template <class T>
void put(char* properties, std::size_t offset, T value) {
  std::memcpy(properties + offset, &value, sizeof value);
}

int describe(char* properties, int device) {
  std::memset(properties, 0, properties_size);
  std::size_t total = 0;
  if (const int code = cuDeviceTotalMem_v2(&total, device); code != success) return noted(code);
  std::strcpy(properties, "a fake GPU");
  put(properties, total_memory_at, total);
  put(properties, 296, std::size_t{49152});  // sharedMemPerBlock
  for (const Member& member : members) put(properties, member.offset, member.value);
  if constexpr (STAND_IN_CUDART >= 13) {
    for (const Member& member : members_of_13) put(properties, member.offset, member.value);
    put(properties, 624, std::size_t{167936});  // sharedMemPerMultiprocessor
    put(properties, 672, std::size_t{166912});  // sharedMemPerBlockOptin
  }
  return success;
}

// cudaDeviceAttr and its value.
constexpr std::pair<int, int> attributes[] = {
    {1, 1024},     // cudaDevAttrMaxThreadsPerBlock
    {10, 32},      // cudaDevAttrWarpSize
    {16, 108},     // cudaDevAttrMultiProcessorCount
    {41, 1},       // cudaDevAttrUnifiedAddressing
    {75, 8},       // cudaDevAttrComputeCapabilityMajor
    {97, 166912},  // cudaDevAttrMaxSharedMemoryPerBlockOptin
};

// cudaPointerAttributes; CUDA 13 has eight reserved numbers behind it.
struct PointerAttributes {
  int type = 0;  // 0: unknown to CUDA; 1: pinned; 2: a device's.
  int device = -1;
  void* device_pointer = nullptr;
  void* host_pointer = nullptr;
#if STAND_IN_CUDART >= 13
  long reserved[8] = {};
#endif
};

}  // namespace

extern "C" {

int cudaGetDeviceCount(int* count) {
  return cuDeviceGetCount(count);
}
int cudaGetDevice(int* device) {
  return call(cuCtxGetDevice, device);
}
int cudaSetDevice(int device) {
  return noted(use_device(device));
}
#if STAND_IN_CUDART == 12
int cudaGetDeviceProperties_v2(char* properties, int device) {
  return describe(properties, device);
}
#else
int cudaGetDeviceProperties(char* properties, int device) {
  return describe(properties, device);
}
#endif
int cudaDeviceGetAttribute(int* value, int attribute, int /*device*/) {
  const auto* found = std::find_if(std::begin(attributes), std::end(attributes),
                                   [&](const auto& each) { return each.first == attribute; });
  *value = found == std::end(attributes) ? 0 : found->second;
  return success;
}
int cudaDeviceGetPCIBusId(char* address, int size, int device) {
  return noted(cuDeviceGetPCIBusId(address, size, device));
}
int cudaDeviceCanAccessPeer(int* can, int /*device*/, int /*peer*/) {
  *can = 0;
  return success;
}
int cudaDeviceEnablePeerAccess(int /*peer*/, unsigned /*flags*/) {
  return noted(not_supported);
}
int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return success;
}
int cudaDeviceSynchronize() {
  return call(cuCtxSynchronize);
}
int cudaDriverGetVersion(int* version) {
  *version = STAND_IN_CUDART * 1000;
  return success;
}
int cudaRuntimeGetVersion(int* version) {
  *version = STAND_IN_CUDART * 1000;
  return success;
}
int cudaGetLastError() {
  const int code = runtime_thread().last_error;
  runtime_thread().last_error = success;
  return code;
}
int cudaPeekAtLastError() {
  return runtime_thread().last_error;
}
const char* cudaGetErrorString(int code) {
  if (code == success) return "no error";
  return code == out_of_memory ? "out of memory" : "an error of the stand-in";
}
const char* cudaGetErrorName(int code) {
  return code == out_of_memory ? "cudaErrorMemoryAllocation" : "cudaErrorOfTheStandIn";
}
int cudaThreadExchangeStreamCaptureMode(int* mode) {
  return cuThreadExchangeStreamCaptureMode(mode);
}
int cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned /*version*/,
                                     unsigned long long flags, int* found) {
  const int code = cuGetProcAddress_v2(name, function, STAND_IN_CUDART * 1000, flags, found);
  return found != nullptr ? success : noted(code);
}
int cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                            int* found) {
  return cudaGetDriverEntryPointByVersion(name, function, 0, flags, found);
}

int cudaMalloc(void** out, std::size_t bytes) {
  *out = nullptr;
  if (bytes == 0) return success;
  return call(cuMemAlloc_v2, reinterpret_cast<unsigned long long*>(out), bytes);
}
int cudaFree(void* memory) {
  return memory == nullptr ? call(cuCtxSynchronize) : call(cuMemFree_v2, address_of(memory));
}
int cudaMallocAsync(void** out, std::size_t bytes, void* /*stream*/) {
  return cudaMalloc(out, bytes);
}
int cudaFreeAsync(void* memory, void* stream) {
  const int code = call(cuStreamSynchronize, stream);
  return code == success ? cudaFree(memory) : code;
}
int cudaMallocManaged(void** out, std::size_t bytes, unsigned /*flags*/) {
  return cudaMalloc(out, bytes);
}
int cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return call(cuMemGetInfo_v2, free, total);
}
int cudaHostAlloc(void** out, std::size_t bytes, unsigned flags) {
  return call(cuMemHostAlloc, out, bytes, flags);
}
int cudaMallocHost(void** out, std::size_t bytes) {
  return cudaHostAlloc(out, bytes, 0);
}
int cudaFreeHost(void* memory) {
  return memory == nullptr ? success : call(cuMemFreeHost, memory);
}
int cudaHostRegister(void* memory, std::size_t bytes, unsigned flags) {
  return call(cuMemHostRegister_v2, memory, bytes, flags);
}
// The fake GPU is made of the host's memory, so that it sees this at the same address.
int cudaHostGetDevicePointer(void** out, void* memory, unsigned /*flags*/) {
  *out = memory;
  return success;
}
int cudaHostUnregister(void* memory) {
  return call(cuMemHostUnregister, memory);
}
int cudaMemcpy(void* to, const void* from, std::size_t bytes, int /*kind*/) {
  return call(cuMemcpy, address_of(to), address_of(from), bytes);
}
int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int /*kind*/, void* stream) {
  return call(cuMemcpyAsync, address_of(to), address_of(from), bytes, stream);
}
int cudaMemcpyPeerAsync(void* to, int /*to_device*/, const void* from, int /*from_device*/,
                        std::size_t bytes, void* stream) {
  return cudaMemcpyAsync(to, from, bytes, 0, stream);
}
int cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                      std::size_t width, std::size_t height, int kind, void* stream) {
  for (std::size_t row = 0; row < height; ++row) {
    const int code =
        cudaMemcpyAsync(static_cast<char*>(to) + row * to_pitch,
                        static_cast<const char*>(from) + row * from_pitch, width, kind, stream);
    if (code != success) return code;
  }
  return success;
}
int cudaMemset(void* to, int value, std::size_t bytes) {
  return call(cuMemsetD8_v2, address_of(to), static_cast<unsigned char>(value), bytes);
}
int cudaMemsetAsync(void* to, int value, std::size_t bytes, void* stream) {
  return call(cuMemsetD8Async, address_of(to), static_cast<unsigned char>(value), bytes, stream);
}
int cudaPointerGetAttributes(PointerAttributes* attributes_of, const void* pointer) {
  PointerAttributes found;
  found.device = fake_gpu_of(pointer);
  if (found.device >= 0) {
    found.type = 2;
    found.device_pointer = const_cast<void*>(pointer);
  } else {
    found.type = fake_gpu_is_pinned(pointer) != 0 ? 1 : 0;
    found.host_pointer = const_cast<void*>(pointer);
    if (found.type == 1) found.device = 0;
  }
  *attributes_of = found;
  return success;
}

}  // extern "C"
