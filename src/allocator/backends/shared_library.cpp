// SPDX-License-Identifier: Apache-2.0
#include "allocator/backends/shared_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headroom::allocator {

Result<SharedLibrary> SharedLibrary::open(std::span<const char* const> names) {
  for (const int loaded_only : {RTLD_NOLOAD, 0}) {
    for (const char* name : names) {
      void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | loaded_only);
      if (library != nullptr) return SharedLibrary(library, name);
    }
  }
  const char* why = ::dlerror();  // NOLINT(concurrency-mt-unsafe): of this thread.
  return Error{Errc::unsupported,
               fmt::format("expected one of {} here, found none ({})", fmt::join(names, ", "),
                           why == nullptr ? "no reason given" : why),
               "headroom check shows which GPUs and which drivers this machine has"};
}

void* SharedLibrary::address_of(const char* name) const {
  return ::dlsym(library_, name);
}

Status SharedLibrary::check_complete() const {
  if (missing_.empty()) return Done{};
  return Error{Errc::unsupported, fmt::format("{} lacks {}", name_, fmt::join(missing_, ", ")),
               "headroom check shows which version is installed; a newer one may have it"};
}

}  // namespace headroom::allocator
