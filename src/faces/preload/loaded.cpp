// SPDX-License-Identifier: Apache-2.0
#include "faces/preload/loaded.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <string_view>

// Of no version that a glibc before 2.34 lacks, and absent rather than fatal where the program has
// no libdl.
#pragma weak dlopen
#pragma weak dlvsym
#pragma weak dladdr
asm(".symver dlopen, dlopen@GLIBC_2.2.5\n.symver dlvsym, dlvsym@GLIBC_2.2.5\n"
    ".symver dladdr, dladdr@GLIBC_2.2.5");

namespace headroom::preload {
namespace {

std::string_view file_of(const char* path) {
  std::string_view all = path == nullptr ? "" : path;
  if (const auto slash = all.rfind('/'); slash != std::string_view::npos)
    all.remove_prefix(slash + 1);
  return all;
}

// Copies a path that fits. copy() would need the C++ library.
void keep(std::string_view path, char* to) {
  std::memcpy(to, path.data(), path.size());
  to[path.size()] = '\0';
}

int look_at(dl_phdr_info* library, std::size_t /*size*/, void* out) {
  Loaded& found = *static_cast<Loaded*>(out);
  const std::string_view file = file_of(library->dlpi_name);
  for (const char* face : {"libheadroom_torch.so", "libheadroom_onnx.so", "libc10_hip.so"})
    if (file == face) found.has_other_face = true;
  const std::string_view path = library->dlpi_name == nullptr ? "" : library->dlpi_name;
  if (path.size() >= Loaded::longest) return 0;
  if (file.starts_with("librocprofiler-register")) keep(path, found.register_library);
  if (found.is_known_runtime || !file.starts_with("libamdhip64")) return 0;
  found.has_runtime = true;
  found.is_known_runtime = file.starts_with("libamdhip64.so");
  keep(path, found.runtime);
  return 0;
}

}  // namespace

DlSym* loader_dlsym() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): it is a function.
  static DlSym* known = nullptr;
  if (DlSym* const before = __atomic_load_n(&known, __ATOMIC_RELAXED); before != nullptr)
    return before;
  if (&::dlvsym == nullptr) return nullptr;
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5"})
    if (void* found = ::dlvsym(RTLD_NEXT, "dlsym", version); found != nullptr) {
      __atomic_store_n(&known, reinterpret_cast<DlSym*>(found), __ATOMIC_RELAXED);
      return reinterpret_cast<DlSym*>(found);
    }
  return nullptr;
}

void* open_loaded(const char* path) {
  return &::dlopen == nullptr ? nullptr : ::dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
}

Loaded look_at_loaded() {
  Loaded found;
  ::dl_iterate_phdr(look_at, &found);
  return found;
}

bool is_headroom(const void* code) {
  Dl_info info{};
  if (&::dladdr == nullptr || ::dladdr(code, &info) == 0) return false;
  const std::string_view file = file_of(info.dli_fname);
  return file.starts_with("libheadroom_allocator.so") || file == "libheadroom_hip.so";
}

}  // namespace headroom::preload
