// SPDX-License-Identifier: Apache-2.0
// The stand-in for libamdhip64, as programs use it: streams, work on them, functions by name.
#include <dlfcn.h>

#include <set>

#include "base/mutex.h"
#include "stand_ins/hip.h"

using namespace headroom::stand_ins;

namespace {

constexpr unsigned non_blocking = 1;       // hipStreamNonBlocking
constexpr int graph_update_failure = 910;  // hipErrorGraphExecUpdateFailure

// Streams that are captured in the mode that forbids unsafe calls everywhere.
class StrictCaptures {
 public:
  void begin(const void* stream) {
    const headroom::MutexLock lock(mutex_);
    if (streams_.insert(stream).second) count_capture(1);
  }
  void end(const void* stream) {
    const headroom::MutexLock lock(mutex_);
    if (streams_.erase(stream) != 0) count_capture(-1);
  }

 private:
  headroom::Mutex mutex_;
  std::set<const void*> streams_ HEADROOM_GUARDED_BY(mutex_);
};

StrictCaptures& strict_captures() {
  static auto* const all = new StrictCaptures;
  return *all;
}

}  // namespace

extern "C" {

int hipStreamCreateWithFlags(void** out, unsigned flags) {
  return on_device(false, out,
                   [&](auto& gpu) { return gpu.create_stream((flags & non_blocking) == 0); });
}
int hipStreamCreate(void** out) {
  return hipStreamCreateWithFlags(out, 0);
}
int hipStreamCreateWithPriority(void** out, unsigned flags, int /*priority*/) {
  return hipStreamCreateWithFlags(out, flags);
}
int hipStreamDestroy(void* stream) {
  return on_device_of(stream, [&](auto& gpu) { return gpu.destroy_stream(number(stream)); });
}
// The kind says nothing that the addresses do not say.
int hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int /*kind*/, void* stream) {
  return on_device_of(
      stream, [&](auto& gpu) { return gpu.copy(number(stream), number(to), number(from), bytes); });
}
int hipMemcpy(void* to, const void* from, std::size_t bytes, int /*kind*/) {
  return on_device(true, [&](auto& gpu) { return gpu.copy_now(number(to), number(from), bytes); });
}
int hipMemcpyPeerAsync(void* to, int /*device*/, const void* from, int /*source*/,
                       std::size_t bytes, void* stream) {
  return hipMemcpyAsync(to, from, bytes, 0, stream);
}
int hipMemcpy2DAsync(char* to, std::size_t to_pitch, const char* from, std::size_t from_pitch,
                     std::size_t width, std::size_t height, int kind, void* stream) {
  for (std::size_t row = 0; row < height; ++row) {
    const int code =
        hipMemcpyAsync(to + row * to_pitch, from + row * from_pitch, width, kind, stream);
    if (code != success) return code;
  }
  return success;
}
int hipMemset(void* to, int value, std::size_t bytes) {
  return on_device(true, [&](auto& gpu) {
    return gpu.fill(0, number(to), bytes, static_cast<std::uint32_t>(value), 1);
  });
}
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream) {
  return on_device_of(stream, [&](auto& gpu) {
    return gpu.fill(number(stream), number(to), bytes, static_cast<std::uint32_t>(value), 1);
  });
}

int hipStreamGetDevice(void* stream, int* device) {
  choose_device();
  *device =
      static_cast<int>(device_of(number(stream), static_cast<unsigned>(thread_state().device)));
  return success;
}
int hipStreamWaitEvent(void* stream, void* event, unsigned /*flags*/) {
  return noted(on_device_of(
      stream, [&](auto& gpu) { return gpu.let_stream_wait(number(stream), number(event)); }));
}
int hipStreamQuery(void* stream) {
  bool is_done = false;
  const int code = on_device_of(stream, [&](auto& gpu) {
    auto result = gpu.stream_is_done(number(stream));
    is_done = result.value_or(false);
    return result;
  });
  return code == success && !is_done ? not_ready : code;
}
int hipEventCreate(void** out) {
  return on_device(false, out, [&](auto& gpu) { return gpu.create_event(); });
}
int hipEventSynchronize(void* event) {
  return noted(on_device_of(event, [&](auto& gpu) { return gpu.wait_for_event(number(event)); }));
}

int hipStreamBeginCapture(void* stream, int mode) {
  const int code =
      on_device_of(stream, [&](auto& gpu) { return gpu.begin_capture(number(stream)); });
  if (code == success && mode == global_capture) strict_captures().begin(stream);
  return noted(code);
}
int hipStreamIsCapturing(void* stream, int* status) {
  return noted(on_device_of(stream, [&](auto& gpu) {
    auto capture = gpu.capture_of(number(stream));
    *status = capture.value_or(0) != 0 ? 1 : 0;  // hipStreamCaptureStatusActive
    return capture;
  }));
}
int hipStreamEndCapture(void* stream, void** graph) {
  strict_captures().end(stream);
  return noted(on_device_of(stream, [&](auto& gpu) {
    auto made = gpu.end_capture(number(stream));
    if (made) *graph = reinterpret_cast<void*>(*made);  // NOLINT: a number's
    return made;
  }));
}
int hipGraphInstantiate(void** out, void* graph, void** /*node*/, char* /*log*/,
                        std::size_t /*log_bytes*/) {
  return noted(on_device_of(graph, [&](auto& gpu) {
    auto copied = gpu.copy_graph(number(graph));
    if (copied) *out = reinterpret_cast<void*>(*copied);  // NOLINT: a number's
    return copied;
  }));
}
int hipGraphLaunch(void* executable, void* stream) {
  return noted(on_device_of(
      executable, [&](auto& gpu) { return gpu.launch_graph(number(executable), number(stream)); }));
}
int hipGraphDestroy(void* graph) {
  return noted(on_device_of(graph, [&](auto& gpu) { return gpu.destroy_graph(number(graph)); }));
}
int hipGraphExecDestroy(void* executable) {
  return hipGraphDestroy(executable);
}
int hipGraphExecUpdate(void* /*executable*/, void* /*graph*/, void** /*node*/, int* /*result*/) {
  return noted(graph_update_failure);  // So the program makes a new one.
}

int hipGetProcAddress(const char* name, void** out, int /*version*/, std::uint64_t /*flags*/,
                      int* /*status*/) {
  *out = ::dlsym(::dlopen("libamdhip64.so.7", RTLD_NOW | RTLD_NOLOAD), name);
  return *out == nullptr ? invalid_value : success;
}

}  // extern "C"
