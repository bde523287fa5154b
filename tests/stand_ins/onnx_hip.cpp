// SPDX-License-Identifier: Apache-2.0
// The stand-in for libamdhip64, as ONNX Runtime's ROCm provider is linked to it besides: memory of
// the host, events, kernels, which do nothing, and graphs, which are refused. Structures are as
// hip_runtime_api.h of HIP 6 has them. The functions are weak, so that another file of this library
// may have more of one.
#include <cstdlib>
#include <cstring>

#include "stand_ins/stand_in.h"

using namespace headroom::stand_ins;

namespace {

// hipDeviceProp_tR0600.
constexpr std::size_t properties_size = 1472;

template <class T>
void put(char* properties, std::size_t offset, T value) {
  std::memcpy(properties + offset, &value, sizeof value);
}

struct HipDim3 {
  unsigned x = 1, y = 1, z = 1;
};
// What <<<…>>> leaves for the kernel's stub.
struct HipConfiguration {
  HipDim3 grid, block;
  std::size_t shared_bytes = 0;
  void* stream = nullptr;
};
HipConfiguration& hip_configuration() {
  thread_local HipConfiguration configuration;
  return configuration;
}

}  // namespace

#define HEADROOM_WEAK __attribute__((weak))

extern "C" {

int hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, void* stream);
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
int hipStreamSynchronize(void* stream);

HEADROOM_WEAK int hipGetDevicePropertiesR0600(char* properties, int device) {
  if (device < 0 || device >= device_count()) return invalid_device;
  std::memset(properties, 0, properties_size);
  std::strcpy(properties, "a fake GPU");
  put(properties, 288, gpu_of(device).memory_info()->total_bytes);  // totalGlobalMem
  put(properties, 296, std::size_t{65536});                         // sharedMemPerBlock
  put(properties, 308, 32);                                         // warpSize
  put(properties, 320, 1024);                                       // maxThreadsPerBlock
  put(properties, 360, 11);                                         // major
  put(properties, 388, 48);                                         // multiProcessorCount
  std::strcpy(properties + 1160, "gfx1100");                        // gcnArchName
  return success;
}
HEADROOM_WEAK const char* hipGetErrorString(int code) {
  if (code == success) return "no error";
  return code == out_of_memory ? "out of memory" : "an error of the stand-in";
}
HEADROOM_WEAK int hipGetStreamDeviceId(void* stream) {
  return static_cast<int>(device_of(number(stream), static_cast<unsigned>(thread_state().device)));
}

HEADROOM_WEAK int hipHostMalloc(void** out, std::size_t bytes, unsigned /*flags*/) {
  *out = std::aligned_alloc(4096, (bytes + 4096) / 4096 * 4096);
  if (*out == nullptr) return out_of_memory;
  pinned_memory().add(number(*out), bytes);
  return success;
}
HEADROOM_WEAK int hipHostFree(void* memory) {
  if (memory == nullptr) return success;
  if (!pinned_memory().remove(number(memory))) return invalid_value;
  std::free(memory);  // NOLINT: of aligned_alloc().
  return success;
}
HEADROOM_WEAK int hipMemcpyWithStream(void* to, const void* from, std::size_t bytes, int kind,
                                      void* stream) {
  const int code = hipMemcpyAsync(to, from, bytes, kind, stream);
  return code == success ? hipStreamSynchronize(stream) : code;
}
HEADROOM_WEAK int hipMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                                   std::size_t from_pitch, std::size_t width, std::size_t height,
                                   int kind, void* stream) {
  for (std::size_t row = 0; row < height; ++row) {
    const int code =
        hipMemcpyAsync(static_cast<char*>(to) + row * to_pitch,
                       static_cast<const char*>(from) + row * from_pitch, width, kind, stream);
    if (code != success) return code;
  }
  return success;
}
HEADROOM_WEAK int hipMemset(void* to, int value, std::size_t bytes) {
  const int code = hipMemsetAsync(to, value, bytes, nullptr);
  return code == success ? hipStreamSynchronize(nullptr) : code;
}

HEADROOM_WEAK int hipEventCreate(void** out) {
  return on_device(false, out, [&](auto& gpu) { return gpu.create_event(); });
}
HEADROOM_WEAK int hipEventSynchronize(void* event) {
  return on_device_of(event, [&](auto& gpu) { return gpu.wait_for_event(number(event)); });
}
HEADROOM_WEAK int hipEventElapsedTime(float* ms, void* /*from*/, void* /*to*/) {
  *ms = 0;  // Nothing takes time here.
  return success;
}
HEADROOM_WEAK int hipStreamWaitEvent(void* stream, void* event, unsigned /*flags*/) {
  return on_device_of(
      stream, [&](auto& gpu) { return gpu.let_stream_wait(number(stream), number(event)); });
}
HEADROOM_WEAK int hipLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  return on_device_of(stream, [&](auto& gpu) {
    return gpu.call(number(stream), [function, data] { function(data); });
  });
}

HEADROOM_WEAK int __hipPushCallConfiguration(HipDim3 grid, HipDim3 block, std::size_t shared_bytes,
                                             void* stream) {
  hip_configuration() = {grid, block, shared_bytes, stream};
  return success;
}
HEADROOM_WEAK int __hipPopCallConfiguration(HipDim3* grid, HipDim3* block,
                                            std::size_t* shared_bytes, void** stream) {
  *grid = hip_configuration().grid;
  *block = hip_configuration().block;
  *shared_bytes = hip_configuration().shared_bytes;
  *stream = hip_configuration().stream;
  return success;
}
HEADROOM_WEAK int hipLaunchKernel(const void* /*function*/, HipDim3 /*grid*/, HipDim3 /*block*/,
                                  void** /*arguments*/, std::size_t /*shared_bytes*/,
                                  void* stream) {
  return on_device_of(stream, [&](auto& gpu) { return gpu.launch(number(stream)); });
}
HEADROOM_WEAK void** __hipRegisterFatBinary(const void* /*binary*/) {
  static void* handle[4];
  return handle;
}
HEADROOM_WEAK void __hipUnregisterFatBinary(void** /*handle*/) {}
HEADROOM_WEAK void __hipRegisterFunction() {}
HEADROOM_WEAK void __hipRegisterVar() {}

#define HEADROOM_REFUSED(name) \
  HEADROOM_WEAK int name() {   \
    return not_supported;      \
  }
HEADROOM_REFUSED(hipGraphDestroy)
HEADROOM_REFUSED(hipGraphExecDestroy)
HEADROOM_REFUSED(hipGraphInstantiate)
HEADROOM_REFUSED(hipGraphLaunch)
HEADROOM_REFUSED(hipStreamBeginCapture)
HEADROOM_REFUSED(hipStreamEndCapture)

}  // extern "C"
