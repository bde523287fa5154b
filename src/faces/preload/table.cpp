// SPDX-License-Identifier: Apache-2.0
// The table of functions that a HIP runtime hands to rocprofiler-register, which asks for profilers
// that want it. We stand before that one by its function's name, so nothing has to pretend to be a
// profiler.
#include <dlfcn.h>

#include <cstdint>
#include <string_view>

#include "faces/preload/decision.h"
#include "faces/preload/loaded.h"

namespace headroom::preload {
namespace {

constexpr int no_tools = 1;  // ROCP_REG_NO_TOOLS
constexpr const char* register_table = "rocprofiler_register_library_api_table";

using Register = int(const char*, std::uint32_t (*)(), std::uint32_t, void**, std::uint64_t, void*);

// The next library's: RTLD_NEXT means after this one. A runtime that was opened for itself alone
// has it where that does not look.
Register* find_next(DlSym* find, const Loaded& loaded) {
  if (find == nullptr) return nullptr;
  if (void* const next = find(RTLD_NEXT, register_table); next != nullptr)
    return reinterpret_cast<Register*>(next);
  void* const library =
      loaded.register_library[0] == '\0' ? nullptr : open_loaded(loaded.register_library);
  if (library == nullptr) return nullptr;
  return reinterpret_cast<Register*>(find(library, register_table));
}

// What it answers does not matter: where the table is not as expected, the symbols serve.
void hand_over(DlSym* find, void* library, const void* of_runtime, std::uint32_t version,
               void* table) {
  using Take = bool(const void*, std::uint32_t, void*);
  auto* const take = reinterpret_cast<Take*>(find(library, "headroom_hip_take_table"));
  if (take != nullptr) take(of_runtime, version, table);
}

}  // namespace
}  // namespace headroom::preload

using namespace headroom::preload;  // NOLINT(google-build-using-namespace)

// NOLINTNEXTLINE(readability-function-size): so many parameters are AMD's.
extern "C" __attribute__((visibility("default"))) int rocprofiler_register_library_api_table(
    const char* name, std::uint32_t (*import)(), std::uint32_t version, void** tables,
    std::uint64_t count, void* id) {
  const Loaded loaded = look_at_loaded();
  DlSym* const find = loader_dlsym();
  if (find != nullptr && loaded.has_runtime && name != nullptr && std::string_view(name) == "hip" &&
      tables != nullptr && count == 1)
    if (void* const library = decide(loaded); library != nullptr)
      hand_over(find, library, reinterpret_cast<const void*>(import), version, tables[0]);
  Register* const next = find_next(find, loaded);
  return next == nullptr ? no_tools : next(name, import, version, tables, count, id);
}
