// SPDX-License-Identifier: Apache-2.0
// The stand-in for libamdhip64: what the GPUs are, as programs ask before they use one, and the
// kernels of a program, which do nothing.
#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "stand_ins/hip.h"

using namespace headroom::stand_ins;

namespace {

constexpr int version = 70253211;
constexpr int lanes = 32;
constexpr int threads = 1024;
constexpr int local_bytes = 65536;
constexpr int processors = 96;
constexpr std::string_view target = "gfx1100";

// hipDeviceAttribute_t of ROCm 6 and 7: their numbers, and what the GPU has.
constexpr std::array<std::pair<int, int>, 9> attributes = {{
    {23, 11},           // ComputeCapabilityMajor
    {56, threads},      // MaxThreadsPerBlock
    {57, 2 * threads},  // MaxThreadsPerMultiProcessor
    {63, processors},   // MultiprocessorCount
    {74, local_bytes},  // MaxSharedMemoryPerBlock
    {75, local_bytes},  // SharedMemPerBlockOptin
    {87, lanes},        // WarpSize
    {88, 1},            // MemoryPoolsSupported
    {89, 1},            // VirtualMemoryManagementSupported
}};

constexpr int integrated = 16;

// hipDeviceProp_tR0600: 1,472 bytes, with these members at these places.
constexpr std::size_t properties_size = 1472;
template <class Value>
void put(char* properties, std::size_t place, Value value) {
  std::memcpy(properties + place, &value, sizeof value);
}

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

// What <<<…>>> leaves for the kernel's stub.
struct CallConfiguration {
  Dim3 grid, block;
  std::size_t shared_bytes = 0;
  void* stream = nullptr;
};

CallConfiguration& call_configuration() {
  thread_local CallConfiguration configuration;
  return configuration;
}

int launch(void* stream) {
  choose_device();
  return noted(on_device_of(stream, [&](auto& gpu) { return gpu.launch(number(stream)); }));
}

}  // namespace

extern "C" {

int hipInit(unsigned flags) {
  choose_device();
  return flags == 0 ? success : invalid_value;
}
int hipRuntimeGetVersion(int* out) {
  *out = version;
  return success;
}
int hipDriverGetVersion(int* out) {
  *out = version;
  return success;
}
int hipGetDeviceCount(int* count) {
  *count = device_count();
  return success;
}
int hipDeviceGet(int* out, int device) {
  *out = device;
  return device >= 0 && device < device_count() ? success : noted(invalid_device);
}
int hipDeviceGetName(char* name, int size, int /*device*/) {
  copy_text(name, size, "a fake GPU");
  return success;
}
int hipDeviceGetPCIBusId(char* address, int size, int device) {
  copy_text(address, size, pci_address(device));
  return success;
}
int hipDeviceGetAttribute(int* value, int attribute, int /*device*/) {
  *value = 0;
  for (const auto& [known, has] : attributes)
    if (known == attribute) *value = has;
  if (attribute == integrated) *value = std::getenv("FAKE_GPU_INTEGRATED") != nullptr ? 1 : 0;
  return success;
}
int hipGetDevicePropertiesR0600(char* out, int device) {
  return noted(on_gpu(device, [&](auto& gpu) {
    auto info = gpu.memory_info();
    if (!info) return info;
    std::memset(out, 0, properties_size);
    std::strcpy(out, "a fake GPU");
    put(out, 288, info->total_bytes);
    put(out, 296, std::uint64_t{local_bytes});  // sharedMemPerBlock
    put(out, 304, local_bytes);                 // regsPerBlock
    put(out, 308, lanes);
    put(out, 320, threads);
    for (const std::size_t place : {324, 328, 332}) put(out, place, threads);
    for (const std::size_t place : {336, 340, 344}) put(out, place, 0x7fffffff);
    put(out, 360, 11);                                      // major
    put(out, 368, std::uint64_t{256});                      // textureAlignment
    put(out, 388, processors);                              // multiProcessorCount
    put(out, 624, 2 * threads);                             // maxThreadsPerMultiProcessor
    put(out, 696, std::size_t{local_bytes});                // sharedMemPerBlockOptin
    put(out, 744, 1);                                       // memoryPoolsSupported
    std::memcpy(out + 1160, target.data(), target.size());  // gcnArchName
    return info;
  }));
}
// hipDeviceProp_tR0000: 792 bytes, of which only the memory is there.
int hipGetDevicePropertiesR0000(char* out, int device) {
  return noted(on_gpu(device, [&](auto& gpu) {
    auto info = gpu.memory_info();
    if (!info) return info;
    std::memset(out, 0, 792);
    std::strcpy(out, "a fake GPU");
    put(out, 256, info->total_bytes);
    return info;
  }));
}
int hipGetDeviceProperties(char* out, int device) {
  return hipGetDevicePropertiesR0000(out, device);
}
int hipDeviceTotalMem(std::size_t* bytes, int device) {
  return noted(on_gpu(device, [&](auto& gpu) {
    auto info = gpu.memory_info();
    if (info) *bytes = info->total_bytes;
    return info;
  }));
}
int hipDeviceCanAccessPeer(int* can, int /*device*/, int /*peer*/) {
  *can = 0;
  return success;
}
int hipGetDevice(int* device) {
  choose_device();
  *device = thread_state().device;
  return success;
}
int hipSetDevice(int device) {
  if (device < 0 || device >= device_count()) return noted(invalid_device);
  thread_state().device = device;
  return success;
}

int hipPeekAtLastError() {
  return thread_state().last_error;
}
int hipGetLastError() {
  return std::exchange(thread_state().last_error, success);
}
int hipExtGetLastError() {
  return std::exchange(thread_state().last_error, success);
}
const char* hipGetErrorName(int code) {
  if (code == success) return "hipSuccess";
  if (code == not_supported) return "hipErrorNotSupported";
  return code == out_of_memory ? "hipErrorOutOfMemory" : "hipErrorInvalidValue";
}
const char* hipGetErrorString(int code) {
  if (code == success) return "no error";
  if (code == not_supported) return "operation not supported";
  return code == out_of_memory ? "out of memory" : "invalid argument";
}

// -- Kernels.
void** __hipRegisterFatBinary(const void* /*binary*/) {
  static void* handle = nullptr;
  return &handle;
}
void __hipRegisterFunction() {}
void __hipRegisterVar() {}
void __hipUnregisterFatBinary(void** /*handle*/) {}
int __hipPushCallConfiguration(Dim3 grid, Dim3 block, std::size_t shared_bytes, void* stream) {
  call_configuration() = {grid, block, shared_bytes, stream};
  return success;
}
int __hipPopCallConfiguration(Dim3* grid, Dim3* block, std::size_t* shared_bytes, void** stream) {
  const CallConfiguration& last = call_configuration();
  *grid = last.grid;
  *block = last.block;
  *shared_bytes = last.shared_bytes;
  *stream = last.stream;
  return success;
}
int hipLaunchKernel(const void* /*function*/, Dim3 /*grid*/, Dim3 /*block*/, void** /*arguments*/,
                    std::size_t /*shared_bytes*/, void* stream) {
  return launch(stream);
}
int hipModuleLaunchKernel(void* /*function*/, unsigned /*x*/, unsigned /*y*/, unsigned /*z*/,
                          unsigned /*block_x*/, unsigned /*block_y*/, unsigned /*block_z*/,
                          unsigned /*shared_bytes*/, void* stream, void** /*arguments*/,
                          void** /*extra*/) {
  return launch(stream);
}
int hipFuncSetAttribute(const void* /*function*/, int /*attribute*/, int /*value*/) {
  return success;
}
int hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* /*function*/,
                                                 int /*threads*/, std::size_t /*shared_bytes*/) {
  *blocks = 2;
  return success;
}

}  // extern "C"
