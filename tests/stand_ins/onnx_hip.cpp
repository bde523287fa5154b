// SPDX-License-Identifier: Apache-2.0
// The stand-in for libamdhip64: what ONNX Runtime's ROCm provider asks of it besides.
#include "stand_ins/hip.h"
#include "stand_ins/stand_in.h"

using namespace headroom::stand_ins;

extern "C" {

int hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, void* stream);
int hipStreamSynchronize(void* stream);

int hipGetStreamDeviceId(void* stream) {
  return static_cast<int>(device_of(number(stream), static_cast<unsigned>(thread_state().device)));
}
int hipMemcpyWithStream(void* to, const void* from, std::size_t bytes, int kind, void* stream) {
  const int code = hipMemcpyAsync(to, from, bytes, kind, stream);
  return code == success ? hipStreamSynchronize(stream) : code;
}
int hipEventElapsedTime(float* ms, void* /*from*/, void* /*to*/) {
  *ms = 0;  // Nothing takes time here.
  return success;
}
int hipLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  return on_device_of(stream, [&](auto& gpu) {
    return gpu.call(number(stream), [function, data] { function(data); });
  });
}

}  // extern "C"
