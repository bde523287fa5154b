// SPDX-License-Identifier: Apache-2.0
// What libheadroom_hip.so shows to the programs that it is preloaded into: functions of HIP under
// their own names, declared as in hip_runtime_api.h of ROCm 6 and 7, and dlsym() for programs that
// ask for them by name. All others of HIP pass it by.
#pragma once

#include <cstddef>
#include <cstdint>

#define HEADROOM_HIP_API __attribute__((visibility("default")))

extern "C" {
// NOLINTBEGIN(readability-identifier-naming): HIP's names.

// Memory from headroom's allocator. From the runtime: 0 bytes, a null `out`, and all if the
// allocator cannot be opened or the process has libheadroom_torch.so. Returns hipErrorOutOfMemory
// if there is no room; `*out` is null then.
HEADROOM_HIP_API int hipMalloc(void** out, std::size_t bytes);

// Waits for the block's device, as the runtime does, and only then gives the memory away. If that
// fails, the block lives on. Fails with hipErrorInvalidValue for what lies in the allocator's
// memory and is no live block; what else there is, is the runtime's.
HEADROOM_HIP_API int hipFree(void* block);

// The same for a block of hipMalloc(), which the runtime takes too. Blocks of hipMallocAsync() are
// the runtime's.
HEADROOM_HIP_API int hipFreeAsync(void* block, void* stream);

// The runtime's answer; what the allocator holds and does not use counts as free, and nothing
// beyond its capacity does.
HEADROOM_HIP_API int hipMemGetInfo(std::size_t* free, std::size_t* total);

// The runtime's, and an error of the functions above.
HEADROOM_HIP_API int hipGetLastError();
HEADROOM_HIP_API int hipPeekAtLastError();

HEADROOM_HIP_API int hipGetProcAddress(const char* name, void** out, int version,
                                       std::uint64_t flags, void* status);

// NOLINTEND(readability-identifier-naming)

struct HeadroomHipCounts {
  std::size_t size;  // sizeof(HeadroomHipCounts).
  std::uint64_t allocations;
  std::uint64_t frees;
  std::uint64_t out_of_memory;
  std::uint64_t refused_frees;  // Of pointers into the allocator's memory that were no live block.
  std::uint64_t passed_on;      // Allocations that the runtime served.
};

// Returns 0, or 1 if `out` is null or of another size.
HEADROOM_HIP_API int headroom_hip_get_counts(HeadroomHipCounts* out);
}
