// SPDX-License-Identifier: Apache-2.0
#include "allocator/replay/iteration_ends.h"

#include <algorithm>

#include "allocator/places/segment.h"
#include "allocator/plans/iteration_finder.h"
#include "base/bytes.h"

namespace headroom::allocator {

std::vector<std::uint64_t> find_iteration_ends(const Trace& trace) {
  struct Object {
    std::uint64_t number = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<std::uint64_t> ends;
  std::vector<Object> objects(trace.objects);
  IterationFinder finder;
  std::uint64_t event_number = 0;
  for (const Event& event : trace.events) {
    ++event_number;
    if (event.kind == EventKind::free)
      finder.note_free(objects[event.object].number, objects[event.object].bytes);
    if (event.kind != EventKind::allocate) continue;
    const std::uint64_t bytes = round_up(std::max(event.bytes, granule_bytes), granule_bytes);
    if (finder.ends_here()) ends.push_back(event_number);
    objects[event.object] = {finder.note_allocate(bytes, event.stream), bytes};
  }
  return ends;
}

}  // namespace headroom::allocator
