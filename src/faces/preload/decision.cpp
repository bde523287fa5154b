// SPDX-License-Identifier: Apache-2.0
#include "faces/preload/decision.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

#pragma weak dlopen
#pragma weak dlerror
asm(".symver dlopen, dlopen@GLIBC_2.2.5\n.symver dlerror, dlerror@GLIBC_2.2.5");

namespace headroom::preload {
namespace {

constexpr const char* variable = "HEADROOM_HIP_LIBRARY";

// The handle of libheadroom_hip.so, `the_runtime` where that does not serve, null until it is
// decided. Never closed.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): interposed functions have no
// place for an object of ours, and what it decides is of the process.
char the_runtime_itself = 0;
void* const the_runtime = &the_runtime_itself;
void* decided = nullptr;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

void* load_decided() {
  return __atomic_load_n(&decided, __ATOMIC_ACQUIRE);
}

void* library_of(void* served) {
  return served == the_runtime ? nullptr : served;
}

// One line, which a program's own output does not tear.
void say(std::string_view why) {
  constexpr std::string_view before = "headroom: hipMalloc is the runtime's own: ";
  char line[1024];
  const std::size_t room = sizeof line - before.size() - 1;
  std::memcpy(line, before.data(), before.size());  // copy() would need the C++ library.
  std::size_t length = before.size() + (why.size() < room ? why.size() : room);
  std::memcpy(line + before.size(), why.data(), length - before.size());
  for (std::size_t i = 0; i < length; ++i)
    if (line[i] == '\n') line[i] = ' ';
  line[length++] = '\n';
  static_cast<void>(::write(STDERR_FILENO, line, length) < 0);
}

// The library, or null and why not.
void* open_library(const Loaded& loaded, const char** why) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): as safe as every other reader of the environment.
  const char* const path = ::getenv(variable);
  if (!loaded.is_known_runtime) {
    *why = "expected a runtime named libamdhip64.so, found another name";
  } else if (path == nullptr || *path == '\0') {
    *why = "HEADROOM_HIP_LIBRARY is not set";
  } else if (&::dlopen == nullptr || &::dlerror == nullptr) {
    *why = "the program has no dlopen()";
  } else if (void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL); library != nullptr) {
    return library;
  } else {
    const char* const error = ::dlerror();  // NOLINT(concurrency-mt-unsafe): of this thread.
    *why = error == nullptr ? "dlopen() failed" : error;
  }
  return nullptr;
}

}  // namespace

Decided read_decided() {
  void* const now = load_decided();
  return {now != nullptr, library_of(now)};
}

// No lock: a thread that waited for one here might hold the loader's, which opening needs. Of
// several threads one decides; opening a library twice does no harm.
void* decide(const Loaded& loaded) {
  if (void* const before = load_decided(); before != nullptr) return library_of(before);
  const char* why = nullptr;
  void* mine = the_runtime;
  if (!loaded.has_other_face)
    if (void* const library = open_library(loaded, &why); library != nullptr) mine = library;
  void* expected = nullptr;
  if (!__atomic_compare_exchange_n(&decided, &expected, mine, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE))
    return library_of(expected);
  if (why != nullptr) say(why);
  return library_of(mine);
}

}  // namespace headroom::preload
