// SPDX-License-Identifier: Apache-2.0
#include "faces/hip/runtime.h"

#include <dlfcn.h>
#include <headroom/allocator.h>

#include <array>

namespace headroom::hip_face {
namespace {

// The order is that of allocator/backends/hip_api.cpp, so that both mean the same library.
constexpr std::array libraries = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                  "libamdhip64.so"};

using DlSym = void*(void*, const char*);

DlSym* find_real_dlsym() {
  // dlvsym() is not interposed. glibc moved dlsym() into libc in 2.34.
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5"})
    if (void* found = ::dlvsym(RTLD_NEXT, "dlsym", version); found != nullptr)
      return reinterpret_cast<DlSym*>(found);
  return nullptr;
}

}  // namespace

const void* base_of(const void* code) {
  Dl_info info{};
  return code != nullptr && ::dladdr(code, &info) != 0 ? info.dli_fbase : nullptr;
}

void* real_dlsym(void* handle, const char* name) {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): it is a function.
  static DlSym* const real = find_real_dlsym();
  return real == nullptr ? nullptr : real(handle, name);
}

void* find_in_runtime(const char* name) {
  for (const char* library : libraries) {
    // The handle is kept, so that the library stays loaded.
    void* const handle = ::dlopen(library, RTLD_NOW | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    if (void* found = real_dlsym(handle, name); found != nullptr) return found;
  }
  return nullptr;
}

void* find_next_register() {
  constexpr const char* name = "rocprofiler_register_library_api_table";
  // Another preloaded library may want it too. A runtime that was opened for itself alone has it
  // where RTLD_NEXT does not look.
  if (void* const next = real_dlsym(RTLD_NEXT, name); next != nullptr) return next;
  for (const char* library : {"librocprofiler-register.so.0", "librocprofiler-register.so"}) {
    void* const handle = ::dlopen(library, RTLD_NOW | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    if (void* found = real_dlsym(handle, name); found != nullptr) return found;
  }
  return nullptr;
}

bool is_headroom(const void* code) {
  static const void* const allocator =
      base_of(reinterpret_cast<const void*>(&headroom_allocator_create));
  static const void* const own = base_of(reinterpret_cast<const void*>(&real_dlsym));
  const void* const base = base_of(code);
  return base != nullptr && (base == allocator || base == own);
}

bool has_torch_library() {
  return ::dlopen("libheadroom_torch.so", RTLD_NOW | RTLD_NOLOAD) != nullptr;
}

}  // namespace headroom::hip_face
