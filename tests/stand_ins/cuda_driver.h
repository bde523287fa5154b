// SPDX-License-Identifier: Apache-2.0
// The functions of the stand-in for libcuda that the stand-in for CUDA's runtime is built on, as
// cuda.h declares them, and those that only tests know (fake_gpu_…).
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// How often something happened, or how much there is: see count_of() in stand_ins/stand_in.h.
std::uint64_t fake_gpu_count(int device, const char* what);
// Refuses the nth allocation from now on, once.
void fake_gpu_refuse(int device, std::uint64_t nth);
// The device whose memory this is, or -1.
int fake_gpu_of(const void* address);
int fake_gpu_is_pinned(const void* address);
// A kernel, which does nothing.
int fake_gpu_launch(void* stream);
// The number of the stream's capture; 0: it is not being captured.
int fake_gpu_capture(void* stream, unsigned long long* capture);

int cuInit(unsigned flags);
int cuDriverGetVersion(int* version);
int cuDeviceGetCount(int* count);
int cuDeviceGetName(char* name, int size, int device);
int cuDeviceGetPCIBusId(char* address, int size, int device);
int cuDeviceTotalMem_v2(std::size_t* bytes, int device);
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuCtxGetCurrent(void** context);
int cuCtxSetCurrent(void* context);
int cuCtxGetDevice(int* device);
int cuThreadExchangeStreamCaptureMode(int* mode);
int cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t flags,
                        int* found);

int cuMemAlloc_v2(unsigned long long* out, std::size_t bytes);
int cuMemFree_v2(unsigned long long address);
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total);
int cuMemHostAlloc(void** out, std::size_t bytes, unsigned flags);
int cuMemFreeHost(void* memory);
int cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned flags);
int cuMemHostUnregister(void* memory);
int cuMemcpy(unsigned long long to, unsigned long long from, std::size_t bytes);
int cuMemcpyAsync(unsigned long long to, unsigned long long from, std::size_t bytes, void* stream);
int cuMemsetD8_v2(unsigned long long to, unsigned char value, std::size_t bytes);
int cuMemsetD8Async(unsigned long long to, unsigned char value, std::size_t bytes, void* stream);

int cuCtxSynchronize();
int cuStreamCreate(void** out, unsigned flags);
int cuStreamDestroy_v2(void* stream);
int cuStreamSynchronize(void* stream);
int cuStreamQuery(void* stream);
int cuStreamWaitEvent(void* stream, void* event, unsigned flags);
int cuLaunchHostFunc(void* stream, void (*function)(void*), void* data);
int cuEventCreate(void** out, unsigned flags);
int cuEventRecord(void* event, void* stream);
int cuEventQuery(void* event);
int cuEventSynchronize(void* event);
int cuEventDestroy_v2(void* event);
int cuStreamBeginCapture_v2(void* stream, int mode);
int cuStreamEndCapture(void* stream, void** graph);
int cuGraphLaunch(void* graph, void* stream);
int cuGraphDestroy(void* graph);

}  // extern "C"
