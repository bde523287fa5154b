// SPDX-License-Identifier: Apache-2.0
#include "allocator/places/core.h"

namespace headroom::allocator {

void Core::limit_private_streams(Tiling& tiling, DevicePool& pool) {
  if (tiling.stream_count() <= max_private_streams) return;
  tiling.forget_idle_streams();
  if (tiling.stream_count() <= max_private_streams) return;
  for (const StreamId stream : tiling.private_streams()) {
    if (!pool.wait_for(stream)) continue;
    publish(stream);
    ++counts_.waits;
    return;  // Streams are added one at a time, so one is enough.
  }
}

}  // namespace headroom::allocator
