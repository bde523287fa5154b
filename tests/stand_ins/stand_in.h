// SPDX-License-Identifier: Apache-2.0
// What the stand-ins of HIP's and CUDA's libraries have in common: the GPUs of a process, the
// thread's state that a well-behaved caller leaves as it was, and refusals of what no caller should
// do. Whole programs run on them where there is no GPU.
//
// The environment says what GPUs there are:
//   FAKE_GPU_COUNT      how many; 2 if it does not say
//   FAKE_GPU_BYTES      the memory of each; 512 MiB if it does not say
//   FAKE_GPU_DEFERRED   1: copies and fills wait until somebody waits for them
//   FAKE_GPU_POLLS      how many times an event is not ready when it is asked; 1 if it does not say
//   FAKE_GPU_CAPTURED   1: as if another thread captured a graph, from beginning to end
//   FAKE_GPU_INTEGRATED 1: they are APUs (HIP alone tells)
//   FAKE_GPU_REFUSE     refuses the nth allocation of each, once
//   FAKE_GPU_FAULTS     what is wrong with each: "none,hang", also crash and live_data_zeroed
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "stand_ins/gpu.h"

namespace headroom::stand_ins {

// CUresult, cudaError_t and hipError_t agree on these.
inline constexpr int success = 0;
inline constexpr int invalid_value = 1;
inline constexpr int out_of_memory = 2;
inline constexpr int invalid_device = 101;
inline constexpr int not_ready = 600;
inline constexpr int illegal_address = 700;
inline constexpr int not_supported = 801;
inline constexpr int capture_unsupported = 900;

inline constexpr int global_capture = 0;
inline constexpr int relaxed_capture = 2;

// Of the calling thread, as the real ones have it.
struct ThreadState {
  int device = -1;  // None yet.
  int capture_mode = global_capture;
  int last_error = success;
};

inline ThreadState& thread_state() {
  thread_local ThreadState state;
  return state;
}

int device_count();
// Requires: a number from 0 to device_count() - 1.
Gpu& gpu_of(int device);
PinnedMemory& pinned_memory();
// "0000:0C:00.0", "0000:0F:00.0" and so on: where the two cards of
// tests/machines/two-cards-full-host.toml are.
std::string pci_address(int device);
// By what a test asks for it: "allocations", "releases", "plain_bytes", "peak_plain_bytes",
// "copies", "fills", "launches", "virtual_memory_calls", "memory_info_calls", "is_lost".
std::uint64_t count_of(Gpu& gpu, const std::string& what);

inline std::uint64_t number(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

// Copies a text as these libraries do; `size` counts the zero at the end.
inline void copy_text(char* to, int size, const std::string& text) {
  std::strncpy(to, text.c_str(), static_cast<std::size_t>(size));
}

// Whether a graph is being captured in a mode that forbids unsafe calls in other threads.
bool is_any_captured();
void count_capture(int change);  // +1 where one begins, -1 where it ends.

int code_of(const Gpu& gpu, const Error& error);

// One call on such a device.
template <class Work>
int on_gpu(int device, Work&& work) {
  if (device < 0 || device >= device_count()) return invalid_device;
  Gpu& gpu = gpu_of(device);
  const auto result = work(gpu);
  return result ? success : code_of(gpu, result.error());
}

// Whether a call that another thread's capture of a graph forbids would be refused here.
inline bool is_unsafe_now() {
  return thread_state().capture_mode != relaxed_capture && is_any_captured();
}

// One call on the current device; `unsafe`: one that is_unsafe_now() is about.
template <class Work>
int on_device(bool unsafe, Work&& work) {
  if (unsafe && is_unsafe_now()) return capture_unsupported;
  return on_gpu(thread_state().device, work);
}

// The same of a call that gives a number, which goes to `out`.
template <class Out, class Work>
int on_device(bool unsafe, Out* out, Work&& work) {
  return on_device(unsafe, [&](auto& gpu) {
    auto result = work(gpu);
    if (result) *out = (Out)*result;  // NOLINT: a number to a pointer, or to another number.
    return result;
  });
}

// One call on the device of a stream's or an event's handle.
template <class Work>
int on_device_of(const void* handle, Work&& work) {
  const auto current = static_cast<unsigned>(thread_state().device);
  return on_gpu(static_cast<int>(device_of(number(handle), current)), work);
}

}  // namespace headroom::stand_ins
