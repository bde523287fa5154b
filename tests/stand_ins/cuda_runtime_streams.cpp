// SPDX-License-Identifier: Apache-2.0
// A stand-in for CUDA's runtime: streams, events, graphs, and kernels, which do nothing.
#include <cstring>

#include "stand_ins/cuda_runtime.h"

using namespace headroom::stand_ins;

namespace {

constexpr int is_capturing = 1;  // cudaStreamCaptureStatusActive

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

// The beginning of cudaLaunchConfig_t.
struct LaunchConfiguration {
  Dim3 grid, block;
  std::size_t shared_bytes;
  void* stream;
};

// cudaFuncAttributes, of which programs ask how many threads a kernel may have.
struct FunctionAttributes {
  std::size_t shared_bytes, constant_bytes, local_bytes;
  int max_threads, registers, ptx_version, binary_version;
};
constexpr std::size_t function_attributes_size = STAND_IN_CUDART == 12 ? 136 : 144;

int find_capture(void* stream, int* status, unsigned long long* id) {
  unsigned long long capture = 0;
  const int code = call(fake_gpu_capture, stream, &capture);
  *status = capture != 0 ? is_capturing : 0;
  if (id != nullptr) *id = capture;
  return code;
}

}  // namespace

extern "C" {

int cudaStreamCreateWithFlags(void** out, unsigned flags) {
  return call(cuStreamCreate, out, flags);
}
int cudaStreamCreateWithPriority(void** out, unsigned flags, int /*priority*/) {
  return call(cuStreamCreate, out, flags);
}
int cudaStreamCreate(void** out) {
  return call(cuStreamCreate, out, 0U);
}
int cudaStreamDestroy(void* stream) {
  return call(cuStreamDestroy_v2, stream);
}
int cudaStreamSynchronize(void* stream) {
  return call(cuStreamSynchronize, stream);
}
int cudaStreamQuery(void* stream) {
  return call(cuStreamQuery, stream);
}
int cudaStreamWaitEvent(void* stream, void* event, unsigned flags) {
  return call(cuStreamWaitEvent, stream, event, flags);
}
int cudaStreamGetPriority(void* /*stream*/, int* priority) {
  *priority = 0;
  return success;
}
int cudaLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  return call(cuLaunchHostFunc, stream, function, data);
}

int cudaEventCreateWithFlags(void** out, unsigned flags) {
  return call(cuEventCreate, out, flags);
}
int cudaEventCreate(void** out) {
  return call(cuEventCreate, out, 0U);
}
int cudaEventDestroy(void* event) {
  return call(cuEventDestroy_v2, event);
}
int cudaEventRecord(void* event, void* stream) {
  return call(cuEventRecord, event, stream);
}
int cudaEventRecordWithFlags(void* event, void* stream, unsigned /*flags*/) {
  return call(cuEventRecord, event, stream);
}
int cudaEventQuery(void* event) {
  return call(cuEventQuery, event);
}
int cudaEventSynchronize(void* event) {
  return call(cuEventSynchronize, event);
}
int cudaEventElapsedTime(float* ms, void* /*from*/, void* /*to*/) {
  *ms = 0;  // Nothing takes time here.
  return success;
}

int cudaStreamBeginCapture(void* stream, int mode) {
  return call(cuStreamBeginCapture_v2, stream, mode);
}
int cudaStreamEndCapture(void* stream, void** graph) {
  return call(cuStreamEndCapture, stream, graph);
}
int cudaStreamIsCapturing(void* stream, int* status) {
  return find_capture(stream, status, nullptr);
}
#if STAND_IN_CUDART == 12
int cudaStreamGetCaptureInfo_v2(void* stream, int* status, unsigned long long* id, void** graph,
                                void** dependencies, std::size_t* count) {
#else
int cudaStreamGetCaptureInfo(void* stream, int* status, unsigned long long* id, void** graph,
                             void** dependencies, void** edges, std::size_t* count) {
  if (edges != nullptr) *edges = nullptr;
#endif
  if (graph != nullptr) *graph = nullptr;
  if (dependencies != nullptr) *dependencies = nullptr;
  if (count != nullptr) *count = 0;
  return find_capture(stream, status, id);
}
// A graph is its own executable.
int cudaGraphInstantiate(void** executable, void* graph, unsigned long long /*flags*/) {
  *executable = graph;
  return success;
}
int cudaGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long flags) {
  return cudaGraphInstantiate(executable, graph, flags);
}
int cudaGraphLaunch(void* graph, void* stream) {
  return call(cuGraphLaunch, graph, stream);
}
int cudaGraphDestroy(void* /*graph*/) {
  return success;  // Its executable, which is the same object, lives on.
}
int cudaGraphExecDestroy(void* graph) {
  return call(cuGraphDestroy, graph);
}
int cudaGraphGetNodes(void* /*graph*/, void** /*nodes*/, std::size_t* count) {
  *count = 1;  // PyTorch warns of a graph without any.
  return success;
}

void** __cudaRegisterFatBinary(void* /*binary*/) {
  static void* handle[4];
  return handle;
}
void __cudaRegisterFatBinaryEnd(void** /*handle*/) {}
void __cudaUnregisterFatBinary(void** /*handle*/) {}
// Up to CUDA 12. Returns whether the module's managed variables can be used (crt/host_runtime.h).
char __cudaInitModule(void** /*handle*/) {
  return 1;
}
void __cudaRegisterFunction() {}
void __cudaRegisterVar() {}
unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, std::size_t shared_bytes,
                                     void* stream) {
  call_configuration() = {grid, block, shared_bytes, stream};
  return 0;
}
int __cudaPopCallConfiguration(Dim3* grid, Dim3* block, std::size_t* shared_bytes, void** stream) {
  *grid = call_configuration().grid;
  *block = call_configuration().block;
  *shared_bytes = call_configuration().shared_bytes;
  *stream = call_configuration().stream;
  return success;
}
int __cudaGetKernel(void** kernel, const void* function) {
  *kernel = const_cast<void*>(function);
  return success;
}
int cudaLaunchKernel(const void* /*function*/, Dim3 /*grid*/, Dim3 /*block*/, void** /*arguments*/,
                     std::size_t /*shared_bytes*/, void* stream) {
  return call(fake_gpu_launch, stream);
}
int cudaLaunchCooperativeKernel(const void* /*function*/, Dim3 /*grid*/, Dim3 /*block*/,
                                void** /*arguments*/, std::size_t /*shared_bytes*/, void* stream) {
  return call(fake_gpu_launch, stream);
}
int __cudaLaunchKernel(const void* /*function*/, Dim3 /*grid*/, Dim3 /*block*/,
                       void** /*arguments*/, std::size_t /*shared_bytes*/, void* stream) {
  return call(fake_gpu_launch, stream);
}
int cudaLaunchKernelExC(const LaunchConfiguration* configuration, const void* /*function*/,
                        void** /*arguments*/) {
  return call(fake_gpu_launch, configuration->stream);
}
int cudaFuncGetAttributes(FunctionAttributes* attributes, const void* /*function*/) {
  std::memset(attributes, 0, function_attributes_size);
  attributes->max_threads = 1024;
  attributes->registers = 32;
  attributes->ptx_version = 80;
  attributes->binary_version = 80;
  return success;
}
int cudaFuncSetAttribute(const void* /*function*/, int /*attribute*/, int /*value*/) {
  return success;
}
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* /*function*/,
                                                  int /*threads*/, std::size_t /*shared_bytes*/) {
  *blocks = 2;
  return success;
}
int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                           int threads, std::size_t shared_bytes,
                                                           unsigned /*flags*/) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared_bytes);
}

}  // extern "C"
