// SPDX-License-Identifier: Apache-2.0
// Blocks of headroom's allocator as HIP gives them out: for any stream, and in the order of one.
#pragma once

#include <optional>

#include "faces/hip/process.h"

namespace headroom::hip_face {

// A block that any stream may use at once. Nothing if the runtime has to serve.
std::optional<int> allocate(Process& all, void** out, std::size_t bytes);

// A block that the stream may use at once, of the current device's own pool; others may when the
// program has made them wait, as HIP says. Nothing if the runtime has to serve: a stream of each
// thread, one that is being captured or belongs to another device, a pool that the program made or
// chose, or one that other devices may access. `pool`: null means the device's current one.
std::optional<int> allocate_on_stream(Process& all, void** out, std::size_t bytes, void* pool,
                                      void* stream);

// Waits for the block's device, as hipFree() does, and only then gives it away. Nothing if the
// block is the runtime's.
std::optional<int> release(Process& all, void* block);

// In the order of the stream, if the block came from allocate_on_stream(); else as above.
std::optional<int> release_on_stream(Process& all, void* block, void* stream);

// Waits for the stream and has the allocator forget it, because its handle may soon be another's.
// Returns the code of a wait that failed.
int forget_stream(Process& all, void* stream);

// Whether the address lies in memory of the allocator.
bool is_ours(Process& all, const void* address);

}  // namespace headroom::hip_face
