// SPDX-License-Identifier: Apache-2.0
// A stand-in for libcuda: streams, events and graphs.
#include "allocator/backends/cuda_api.h"
#include "stand_ins/cuda_driver.h"
#include "stand_ins/stand_in.h"

using namespace headroom;
using namespace headroom::stand_ins;
using Cuda = allocator::CudaApi;

namespace {

constexpr unsigned non_blocking = 1;  // CU_STREAM_NON_BLOCKING

// CU_STREAM_LEGACY and CU_STREAM_PER_THREAD have handles of their own; the first is the null
// stream.
Gpu::Handle handle_of(const void* stream) {
  return number(stream) == 1 ? 0 : number(stream);
}

template <class Work>
int on_stream(const void* stream, Work&& work) {
  return on_device_of(stream, [&](Gpu& gpu) { return work(gpu, handle_of(stream)); });
}

template <class Out, class Result>
auto store(Out* out, Result result) {
  if (result) *out = *result;
  return result;
}

void* pointer_to(Gpu::Handle handle) {
  return reinterpret_cast<void*>(handle);  // NOLINT: a handle's
}

}  // namespace

extern "C" {

int cuCtxSynchronize() {
  return on_device(true, [&](auto& gpu) { return gpu.wait_for_device(); });
}
int cuStreamCreate(void** out, unsigned flags) {
  return on_device(false, out,
                   [&](auto& gpu) { return gpu.create_stream((flags & non_blocking) == 0); });
}
int cuStreamDestroy_v2(void* stream) {
  return on_stream(stream, [](Gpu& gpu, auto handle) { return gpu.destroy_stream(handle); });
}
int cuStreamSynchronize(void* stream) {
  return on_stream(stream, [](Gpu& gpu, auto handle) { return gpu.wait_for_stream(handle); });
}
int cuStreamQuery(void* stream) {
  bool done = false;
  const int code = on_stream(
      stream, [&](Gpu& gpu, auto handle) { return store(&done, gpu.stream_is_done(handle)); });
  return code == success && !done ? not_ready : code;
}
int cuStreamWaitEvent(void* stream, void* event, unsigned /*flags*/) {
  const auto current = static_cast<unsigned>(thread_state().device);
  // Another device's event is waited for here and now: a real one would wait by itself.
  if (device_of(handle_of(stream), current) != device_of(number(event), current))
    return cuEventSynchronize(event);
  return on_stream(
      stream, [&](Gpu& gpu, auto handle) { return gpu.let_stream_wait(handle, number(event)); });
}
int cuLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  return on_stream(stream, [&](Gpu& gpu, auto handle) {
    return gpu.call(handle, [function, data] { function(data); });
  });
}
int cuMemcpyAsync(unsigned long long to, unsigned long long from, std::size_t bytes, void* stream) {
  return on_stream(stream,
                   [&](Gpu& gpu, auto handle) { return gpu.copy(handle, to, from, bytes); });
}
int cuMemsetD8Async(unsigned long long to, unsigned char value, std::size_t bytes, void* stream) {
  return on_stream(stream,
                   [&](Gpu& gpu, auto handle) { return gpu.fill(handle, to, bytes, value, 1); });
}
int cuMemsetD32Async(unsigned long long to, unsigned word, std::size_t count, void* stream) {
  return on_stream(stream,
                   [&](Gpu& gpu, auto handle) { return gpu.fill(handle, to, count * 4, word, 4); });
}
int fake_gpu_launch(void* stream) {
  return on_stream(stream, [](Gpu& gpu, auto handle) { return gpu.launch(handle); });
}

int cuEventCreate(void** out, unsigned /*flags*/) {
  return on_device(false, out, [&](auto& gpu) { return gpu.create_event(); });
}
int cuEventRecord(void* event, void* stream) {
  return on_device_of(
      event, [&](auto& gpu) { return gpu.record_event(number(event), handle_of(stream)); });
}
int cuEventQuery(void* event) {
  if (is_unsafe_now()) return capture_unsupported;
  bool passed = false;
  const int code = on_device_of(
      event, [&](auto& gpu) { return store(&passed, gpu.event_passed(number(event))); });
  return code == success && !passed ? not_ready : code;
}
int cuEventSynchronize(void* event) {
  return on_device_of(event, [&](auto& gpu) { return gpu.wait_for_event(number(event)); });
}
int cuEventDestroy_v2(void* event) {
  return on_device_of(event, [&](auto& gpu) { return gpu.destroy_event(number(event)); });
}

int cuStreamBeginCapture_v2(void* stream, int mode) {
  const int code =
      on_stream(stream, [](Gpu& gpu, auto handle) { return gpu.begin_capture(handle); });
  if (code == success && mode == global_capture) count_capture(1);
  return code;
}
int cuStreamEndCapture(void* stream, void** graph) {
  const int code = on_stream(stream, [&](Gpu& gpu, auto handle) {
    auto made = gpu.end_capture(handle);
    if (made) *graph = pointer_to(*made);
    return made;
  });
  if (code == success) count_capture(-1);
  return code;
}
int fake_gpu_capture(void* stream, unsigned long long* capture) {
  return on_stream(stream,
                   [&](Gpu& gpu, auto handle) { return store(capture, gpu.capture_of(handle)); });
}
int cuGraphLaunch(void* graph, void* stream) {
  return on_stream(stream,
                   [&](Gpu& gpu, auto handle) { return gpu.launch_graph(number(graph), handle); });
}
int cuGraphDestroy(void* graph) {
  return on_device_of(graph, [&](auto& gpu) { return gpu.destroy_graph(number(graph)); });
}

}  // extern "C"
