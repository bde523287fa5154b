// SPDX-License-Identifier: Apache-2.0
// How much memory programs are told of. A runtime tells of the pool that it was given by the
// driver; on an APU other layers stand before that one and have less (facts/ladder.h), so a program
// that sizes its caches by the runtime's figure runs into them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "faces/hip/process.h"

namespace headroom::hip_face {

// Where totalGlobalMem is in hipDeviceProp_t, before ROCm 6 and since (ROCm/HIP:
// hip/hip_runtime_api.h).
inline constexpr std::size_t place_r0000 = 256;
inline constexpr std::size_t place_r0600 = 288;

// The most that hipMalloc() can give of a device of which the runtime says `told` bytes.
std::uint64_t all_memory(const Process& all, int device, std::uint64_t told);

// Puts that into a hipDeviceProp_t, if one was given.
void correct_properties(const Process& all, void* properties, std::size_t place, int device);

// What hipMemGetInfo() says of the current device: memory that the allocator holds and does not use
// counts as free, and nothing beyond what it may have does.
void correct_memory_info(const Process& all, std::size_t* free, std::size_t* total);

}  // namespace headroom::hip_face
