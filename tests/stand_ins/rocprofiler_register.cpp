// SPDX-License-Identifier: Apache-2.0
// A stand-in for librocprofiler-register: hands a runtime's tables to the first profiler that shows
// itself, as the real one does (ROCm/rocprofiler-register: rocprofiler_register.cpp).
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

constexpr int is_handed_out = 0;  // ROCP_REG_SUCCESS
constexpr int no_tools = 1;       // ROCP_REG_NO_TOOLS

}  // namespace

extern "C" __attribute__((visibility("default"))) int rocprofiler_register_library_api_table(
    const char* name, std::uint32_t (*)(), std::uint32_t version, void** tables,
    std::uint64_t count, void* /*id*/) {
  const char* const enabled = std::getenv("ROCPROFILER_REGISTER_ENABLED");
  if (enabled != nullptr && std::string_view(enabled) == "0") return no_tools;
  if (::dlsym(RTLD_DEFAULT, "rocprofiler_configure") == nullptr) return no_tools;
  using SetTable = int(const char*, std::uint64_t, std::uint64_t, void**, std::uint64_t);
  const auto set = reinterpret_cast<SetTable*>(::dlsym(RTLD_DEFAULT, "rocprofiler_set_api_table"));
  if (set == nullptr) return no_tools;
  return set(name, version, 0, tables, count) == 0 ? is_handed_out : no_tools;
}
