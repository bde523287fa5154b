// SPDX-License-Identifier: Apache-2.0
// A stand-in for a profiler: counts what a program calls, in the runtime's table. Preloaded, it
// shows itself to rocprofiler-register by these two names.
#include <atomic>
#include <cstdint>
#include <string_view>

namespace {

// Where they are in HipDispatchTable (hip_table.txt).
constexpr std::size_t free_place = 91;
constexpr std::size_t malloc_place = 216;

std::atomic<std::uint64_t> allocations = 0;
std::atomic<std::uint64_t> frees = 0;
int (*next_malloc)(void**, std::size_t) = nullptr;
int (*next_free)(void*) = nullptr;

int watched_malloc(void** out, std::size_t bytes) {
  ++allocations;
  return next_malloc(out, bytes);
}
int watched_free(void* block) {
  ++frees;
  return next_free(block);
}

template <class Function>
void wrap(void*& entry, Function*& next, Function* ours) {
  next = reinterpret_cast<Function*>(entry);
  entry = reinterpret_cast<void*>(ours);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void* rocprofiler_configure(std::uint32_t, const char*,
                                                                   std::uint32_t, void*) {
  return nullptr;
}

__attribute__((visibility("default"))) int rocprofiler_set_api_table(const char* name,
                                                                     std::uint64_t, std::uint64_t,
                                                                     void** tables,
                                                                     std::uint64_t /*count*/) {
  if (std::string_view(name) != "hip") return 0;
  auto** const table = static_cast<void**>(tables[0]);
  wrap(table[malloc_place], next_malloc, &watched_malloc);
  wrap(table[free_place], next_free, &watched_free);
  return 0;
}

__attribute__((visibility("default"))) std::uint64_t fake_profiler_allocations() {
  return allocations;
}
__attribute__((visibility("default"))) std::uint64_t fake_profiler_frees() {
  return frees;
}
}
