// SPDX-License-Identifier: Apache-2.0
// Which functions of HIP somebody gets who asks for them by name.
#pragma once

#include <string_view>

// Every function that libheadroom_hip.so answers in the runtime's place, and libheadroom_preload.so
// hands to it. `symbols.map` has the same names, which tests/faces/hip_symbols.sh compares.
#define HEADROOM_INTERPOSED(DO) \
  DO(hipMalloc)                 \
  DO(hipExtMallocWithFlags)     \
  DO(hipMallocAsync)            \
  DO(hipMallocFromPoolAsync)    \
  DO(hipFree)                   \
  DO(hipFreeAsync)              \
  DO(hipStreamDestroy)          \
  DO(hipMemPoolSetAccess)       \
  DO(hipIpcGetMemHandle)        \
  DO(hipDeviceReset)            \
  DO(hipMemGetInfo)             \
  DO(hipGetLastError)           \
  DO(hipPeekAtLastError)        \
  DO(hipGetProcAddress)

namespace headroom::hip_face {

// What programs get: null for what is the runtime's.
void* find_interposed(std::string_view name);

// What the allocator itself gets: the runtime's own, watched. Null for all others.
void* find_watched(std::string_view name);

}  // namespace headroom::hip_face
