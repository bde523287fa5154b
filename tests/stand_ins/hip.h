// SPDX-License-Identifier: Apache-2.0
// What the files of the stand-in for libamdhip64 share: the thread's last error, the device that is
// current without being asked for, and refusals of what the stand-in does not do.
#pragma once

#include "stand_ins/stand_in.h"

namespace headroom::stand_ins {

// Keeps the error for hipGetLastError(). That an event is not done yet is none.
inline int noted(int code) {
  if (code != success && code != not_ready) thread_state().last_error = code;
  return code;
}

inline void choose_device() {
  if (thread_state().device < 0) thread_state().device = 0;
}

// Counts the call for fake_gpu_refusals() and returns hipErrorNotSupported. Any thread may call.
// If FAKE_GPU_TELL is set, one line on standard error names the function.
int refuse(const char* function);

}  // namespace headroom::stand_ins

// How often a function of HIP was called that the stand-in does not do; null: all of them.
extern "C" std::uint64_t fake_gpu_refusals(const char* function);
