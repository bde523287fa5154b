// SPDX-License-Identifier: Apache-2.0
// Which functions of HIP somebody gets who asks for them by name.
#pragma once

#include <string_view>

// Every function that libheadroom_hip.so answers in the runtime's place, and libheadroom_preload.so
// hands to it. `symbols.map` has the same names, which tests/faces/hip_symbols.sh compares.
//
// The second word is the function's place in HipDispatchTable, the first being 1, behind the size
// (ROCm/clr: hip/amd_detail/hip_api_trace.hpp); 0: it is not in there. Functions are only ever
// added at the end of that table.
#define HEADROOM_INTERPOSED(DO)        \
  DO(hipMalloc, 216)                   \
  DO(hipExtMallocWithFlags, 87)        \
  DO(hipMallocAsync, 220)              \
  DO(hipMallocFromPoolAsync, 221)      \
  DO(hipFree, 91)                      \
  DO(hipFreeHost, 94)                  \
  DO(hipHostFree, 195)                 \
  DO(hipExtGetLastError, 440)          \
  DO(hipFreeAsync, 93)                 \
  DO(hipStreamDestroy, 338)            \
  DO(hipMemPoolSetAccess, 249)         \
  DO(hipIpcGetMemHandle, 206)          \
  DO(hipDeviceReset, 61)               \
  DO(hipMemGetInfo, 237)               \
  DO(hipDeviceTotalMem, 68)            \
  DO(hipGetDeviceProperties, 0)        \
  DO(hipGetDevicePropertiesR0000, 107) \
  DO(hipGetDevicePropertiesR0600, 106) \
  DO(hipGetLastError, 110)             \
  DO(hipPeekAtLastError, 321)          \
  DO(hipGetProcAddress, 443)

namespace headroom::hip_face {

// What programs get: null for what is the runtime's.
void* find_interposed(std::string_view name);

// What the allocator itself gets: the runtime's own, of which allocations are watched.
void* find_watched(std::string_view name);

}  // namespace headroom::hip_face
