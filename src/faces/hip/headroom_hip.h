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

// The same if `flags` is 0; the runtime's memory for all others.
HEADROOM_HIP_API int hipExtMallocWithFlags(void** out, std::size_t bytes, unsigned flags);

// Memory that the stream may use at once, from headroom's allocator if the device's own pool would
// serve. From the runtime: 0 bytes, hipStreamPerThread, a stream that is being captured or of
// another device than the current one, pools that the program made, and the device's own pool if
// other devices may access it.
HEADROOM_HIP_API int hipMallocAsync(void** out, std::size_t bytes, void* stream);
HEADROOM_HIP_API int hipMallocFromPoolAsync(void** out, std::size_t bytes, void* pool,
                                            void* stream);

// Waits for the block's device, as the runtime does, and only then gives the memory away. If that
// fails, the block lives on. Fails with hipErrorInvalidValue for what lies in the allocator's
// memory and is no live block; what else there is, is the runtime's.
HEADROOM_HIP_API int hipFree(void* block);

// The runtime frees memory of the device by these too, so a block of ours is freed as by hipFree().
HEADROOM_HIP_API int hipHostFree(void* memory);
HEADROOM_HIP_API int hipFreeHost(void* memory);

// For a block of hipMallocAsync(): the stream may reuse the memory at once, others when what the
// stream has queued is done. Fails with hipErrorStreamCaptureUnsupported while the stream is being
// captured; the block lives on. For a block of hipMalloc(): as hipFree().
HEADROOM_HIP_API int hipFreeAsync(void* block, void* stream);

// Waits for the stream first if blocks were allocated in its order: its handle may soon be
// another's. If that fails, the stream lives on.
HEADROOM_HIP_API int hipStreamDestroy(void* stream);

// Fails with hipErrorNotSupported if the pool is a device's own and has served from headroom's
// memory, which other devices cannot be given in pieces.
HEADROOM_HIP_API int hipMemPoolSetAccess(void* pool, const void* accesses, std::size_t count);

// Fails with hipErrorNotSupported for headroom's memory: the runtime would share the large piece
// that the block lies in, and other blocks with it.
HEADROOM_HIP_API int hipIpcGetMemHandle(void* handle, void* address);

// Destroys the current device's allocator first; the next block opens a new one.
HEADROOM_HIP_API int hipDeviceReset();

// The runtime's answer; what the allocator holds and does not use counts as free, and nothing
// beyond its capacity does.
HEADROOM_HIP_API int hipMemGetInfo(std::size_t* free, std::size_t* total);

// The runtime's answers; the memory of an APU is no more than what HEADROOM_ALLOCATOR_TOTAL says of
// it (docs/hip-programs.md). `properties` is hipDeviceProp_t of before ROCm 6 in the first two.
HEADROOM_HIP_API int hipDeviceTotalMem(std::size_t* bytes, int device);
HEADROOM_HIP_API int hipGetDeviceProperties(void* properties, int device);
HEADROOM_HIP_API int hipGetDevicePropertiesR0000(void* properties, int device);
HEADROOM_HIP_API int hipGetDevicePropertiesR0600(void* properties, int device);

// The runtime's, and an error of the functions above.
HEADROOM_HIP_API int hipGetLastError();
HEADROOM_HIP_API int hipExtGetLastError();
HEADROOM_HIP_API int hipPeekAtLastError();

HEADROOM_HIP_API int hipGetProcAddress(const char* name, void** out, int version,
                                       std::uint64_t flags, void* status);

// NOLINTEND(readability-identifier-naming)

// What a runtime calls that hands out its table of functions (rocprofiler-register.h). Puts ours
// into it if it is HIP's, and then has the library answer whose name this is; ROCP_REG_NO_TOOLS if
// the process has none.
HEADROOM_HIP_API int rocprofiler_register_library_api_table(const char* name,
                                                            std::uint32_t (*import)(),
                                                            std::uint32_t version, void** tables,
                                                            std::uint64_t count, void* id);

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

// The first half of rocprofiler_register_library_api_table(), for libheadroom_preload.so. Returns
// whether the functions in the table are ours now.
HEADROOM_HIP_API bool headroom_hip_take_table(const void* of_runtime, std::uint32_t version,
                                              void* table);

// What dlsym(handle, name) has to answer to the code at `caller`; null if the loader has to answer.
// For libheadroom_preload.so, whose dlsym() programs reach where this library is not preloaded.
HEADROOM_HIP_API void* headroom_hip_answer_dlsym(void* handle, const char* name,
                                                 const void* caller);
}
