// SPDX-License-Identifier: Apache-2.0
// What the files of the stand-in for CUDA's runtime share: the thread's last error, and the context
// of the current device, which the runtime makes current by itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stand_ins/cuda_driver.h"

namespace headroom::stand_ins {

inline constexpr int success = 0;
inline constexpr int invalid_value = 1;
inline constexpr int out_of_memory = 2;
inline constexpr int invalid_device = 101;
inline constexpr int not_ready = 600;
inline constexpr int not_supported = 801;

struct RuntimeThread {
  int last_error = success;
};

inline RuntimeThread& runtime_thread() {
  thread_local RuntimeThread state;
  return state;
}

// Keeps the error for cudaGetLastError(). That an event is not done yet is none to the runtime.
inline int noted(int code) {
  if (code != success && code != not_ready) runtime_thread().last_error = code;
  return code;
}

inline int use_device(int device) {
  void* context = nullptr;
  const int code = cuDevicePrimaryCtxRetain(&context, device);
  return code == success ? cuCtxSetCurrent(context) : code;
}

// Makes the first device current where none is yet.
inline int be_ready() {
  void* context = nullptr;
  static_cast<void>(cuCtxGetCurrent(&context));
  return context != nullptr ? success : use_device(0);
}

template <class Function, class... Arguments>
int call(Function* function, Arguments... arguments) {
  const int code = be_ready();
  return noted(code == success ? function(arguments...) : code);
}

inline unsigned long long address_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

}  // namespace headroom::stand_ins
