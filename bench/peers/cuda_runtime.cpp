// SPDX-License-Identifier: Apache-2.0
// The functions of the CUDA runtime that c10_cuda of PyTorch 2.6 needs at link time, over a GPU
// that only counts. Work that does not exist is always done: events have happened, streams are
// idle. What only the asynchronous backend and sharing between processes need answers "not
// supported".
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "counting_gpu.h"

namespace {

using headroom::peers::assumed_costs;
using headroom::peers::counting_gpu;

// As the runtime does: an error is kept until cudaGetLastError() takes it.
thread_local cudaError_t last_error = cudaSuccess;

cudaError_t fail(cudaError_t error) {
  last_error = error;
  return error;
}

// A handle that is not null; nobody looks behind it.
template <class Handle>
Handle made_handle() {
  static std::uintptr_t next = 0;
  return reinterpret_cast<Handle>(++next);
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** address, std::size_t bytes) {
  const std::uint64_t taken = counting_gpu().take(bytes, assumed_costs.allocate);
  if (taken == 0) return fail(cudaErrorMemoryAllocation);
  *address = reinterpret_cast<void*>(taken);
  return cudaSuccess;
}

cudaError_t cudaFree(void* address) {
  const auto given = reinterpret_cast<std::uint64_t>(address);
  return counting_gpu().give_back(given, assumed_costs.release) ? cudaSuccess
                                                                : fail(cudaErrorInvalidValue);
}

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  *total_bytes = counting_gpu().capacity_bytes();
  *free_bytes = *total_bytes - counting_gpu().used_bytes();
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int /*device*/) {
  std::memset(properties, 0, sizeof(*properties));
  properties->totalGlobalMem = counting_gpu().capacity_bytes();
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : fail(cudaErrorInvalidDevice);
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  counting_gpu().count_call(assumed_costs.wait);
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "out of memory" : "an error of the counting runtime";
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int /*flags*/) {
  *event = made_handle<cudaEvent_t>();
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t /*event*/) {
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t /*event*/, cudaStream_t /*stream*/) {
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t /*event*/) {
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t /*event*/) {
  counting_gpu().count_call(assumed_costs.wait);
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t /*start*/, cudaEvent_t /*end*/) {
  *ms = 0;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int /*flags*/,
                                         int /*priority*/) {
  *stream = made_handle<cudaStream_t>();
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = *greatest = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t /*stream*/, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  *mode = cudaStreamCaptureModeGlobal;
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t /*stream*/) {
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t /*stream*/) {
  counting_gpu().count_call(assumed_costs.wait);
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t /*stream*/, cudaEvent_t /*event*/,
                                unsigned int /*flags*/) {
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int /*device*/, unsigned int /*flags*/) {
  return fail(cudaErrorNotSupported);
}
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* /*handle*/, void* /*address*/) {
  return fail(cudaErrorNotSupported);
}
cudaError_t cudaIpcOpenMemHandle(void** /*address*/, cudaIpcMemHandle_t /*handle*/,
                                 unsigned int /*flags*/) {
  return fail(cudaErrorNotSupported);
}
cudaError_t cudaIpcCloseMemHandle(void* /*address*/) {
  return fail(cudaErrorNotSupported);
}
cudaError_t cudaMemcpy(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/,
                       cudaMemcpyKind /*kind*/) {
  return fail(cudaErrorNotSupported);
}
cudaError_t cudaMemcpyAsync(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/,
                            cudaMemcpyKind /*kind*/, cudaStream_t /*stream*/) {
  return fail(cudaErrorNotSupported);
}
cudaError_t cudaMemcpyPeerAsync(void* /*to*/, int /*to_device*/, const void* /*from*/,
                                int /*from_device*/, std::size_t /*bytes*/,
                                cudaStream_t /*stream*/) {
  return fail(cudaErrorNotSupported);
}

cudaError_t cudaMallocAsync(void** /*address*/, std::size_t /*bytes*/, cudaStream_t /*stream*/) {
  return fail(cudaErrorNotSupported);
}
cudaError_t cudaFreeAsync(void* /*address*/, cudaStream_t /*stream*/) {
  return fail(cudaErrorNotSupported);
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* /*pool*/, int /*device*/) {
  return fail(cudaErrorNotSupported);
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t /*pool*/, cudaMemPoolAttr /*attribute*/,
                                    void* /*value*/) {
  return fail(cudaErrorNotSupported);
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t /*pool*/, cudaMemPoolAttr /*attribute*/,
                                    void* /*value*/) {
  return fail(cudaErrorNotSupported);
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t /*pool*/, const cudaMemAccessDesc* /*access*/,
                                 std::size_t /*count*/) {
  return fail(cudaErrorNotSupported);
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t /*pool*/, std::size_t /*bytes*/) {
  return fail(cudaErrorNotSupported);
}

}  // extern "C"
