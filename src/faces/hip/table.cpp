// SPDX-License-Identifier: Apache-2.0
#include "faces/hip/table.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "faces/hip/interposed_names.h"
#include "faces/hip/served.h"

namespace headroom::hip_face {
namespace {

// ROCm 6.0, the first to have a table. The version is that of HIP: 10,000 of the major number and
// 100 of the minor one.
constexpr std::uint32_t first_version = 60000;

struct Place {
  std::size_t place;  // 0: it is not in the table.
  void (*take)(void*& entry);
};

constexpr Place places[] = {
#define HEADROOM_PLACE(name, place) {place, &TableEntry<&served::name>::take},
    HEADROOM_INTERPOSED(HEADROOM_PLACE)
#undef HEADROOM_PLACE
};

// The table is its size in bytes, itself included, and pointers.
std::size_t functions_in(void* table) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, table, sizeof bytes);
  return bytes % sizeof(void*) == 0 && bytes >= sizeof bytes ? bytes / sizeof(void*) - 1 : 0;
}

}  // namespace

bool take_table(const void* of_runtime, std::uint32_t version, void* table) {
  const void* const runtime = base_of(of_runtime);
  if (version < first_version || table == nullptr || runtime == nullptr) return false;
  // The allocator below calls this one, and a second runtime's functions have memory of their own.
  if (runtime != base_of(find_in_runtime("hipMalloc"))) return false;
  if (TableEntry<&served::hipMalloc>::is_taken()) return false;
  const std::size_t count = functions_in(table);
  auto** const entries = static_cast<void**>(table);
  const auto has = [&](const Place& one) { return one.place != 0 && one.place <= count; };
  if (std::any_of(std::begin(places), std::end(places), [&](const Place& one) {
        return has(one) && base_of(entries[one.place]) != runtime;
      }))
    return false;
  for (const Place& one : places)
    if (has(one)) one.take(entries[one.place]);
  return true;
}

}  // namespace headroom::hip_face
