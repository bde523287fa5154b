// SPDX-License-Identifier: Apache-2.0
// The faults of the fake driver, each as it was reported of HIP.
#pragma once

#include <cstdint>

namespace headroom::allocator::testing {

enum class Fault : std::uint8_t {
  none,
  zeros_after_mapping,         // For 1.5 ms a new mapping reads zeros and loses stores.
  live_data_zeroed,            // Every 144 maps a page that is mapped reads zeros.
  contents_lost_by_remapping,  // One page in 16 loses them.
  hang,                        // The 30th map never returns.
  crash,                       // The 30th map ends the process.
  tail_access_refused,         // Access is granted only from where the mapped pages begin.
  first_mapping_only,          // Access is granted only from the base of a range.
  access_sometimes_refused,    // Refused twice in a row, then granted for a while.
  some_sizes_refused,
  map_lies,  // Every tenth map reports success but maps nothing.
  aliasing,  // Every 16th page shares the memory of the page before it.
  range_not_freed,
  memory_not_returned,       // It stays taken until the addresses are freed.
  memory_info_inconsistent,  // It reports more free memory than there is.
  single_pages_only,
  memory_info_refused,
};

}  // namespace headroom::allocator::testing
