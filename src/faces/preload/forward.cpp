// SPDX-License-Identifier: Apache-2.0
// Who serves this process: libheadroom_hip.so, or the runtime itself. It is decided at the first
// call, once.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "faces/preload/loaded.h"
#include "faces/preload/slots.h"

#pragma weak dlopen
#pragma weak dlerror
asm(".symver dlopen, dlopen@GLIBC_2.2.5\n.symver dlerror, dlerror@GLIBC_2.2.5");

namespace headroom::preload {
namespace {

constexpr const char* variable = "HEADROOM_HIP_LIBRARY";
constexpr int not_initialized = 3;  // hipErrorNotInitialized.

// The handle of libheadroom_hip.so, `the_runtime` where that does not serve, null until it is
// decided. Never closed.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): interposed functions have no
// place for an object of ours, and what it decides is of the process.
char the_runtime_itself = 0;
void* const the_runtime = &the_runtime_itself;
void* decided = nullptr;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

void* read_decided() {
  return __atomic_load_n(&decided, __ATOMIC_ACQUIRE);
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

// No lock: a thread that waited for one here might hold the loader's, which opening needs. Of
// several threads one decides; opening a library twice does no harm.
void* decide(const Loaded& loaded) {
  if (void* const before = read_decided(); before != nullptr) return before;
  const char* why = nullptr;
  void* mine = the_runtime;
  if (!loaded.has_other_face)
    if (void* const library = open_library(loaded, &why); library != nullptr) mine = library;
  void* expected = nullptr;
  if (!__atomic_compare_exchange_n(&decided, &expected, mine, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE))
    return expected;
  if (why != nullptr) say(why);
  return mine;
}

int answer_not_initialized() {
  return not_initialized;
}

}  // namespace
}  // namespace headroom::preload

using namespace headroom::preload;  // NOLINT(google-build-using-namespace)

extern "C" {

// Where the stub has to jump to. Called for the first call of each function.
__attribute__((visibility("hidden"), used)) void* headroom_preload_find(Slot* slot) {
  void* const nothing = reinterpret_cast<void*>(&answer_not_initialized);
  const Loaded loaded = look_at_loaded();
  DlSym* const find = loader_dlsym();
  if (!loaded.has_runtime || find == nullptr) return nothing;  // It may come later.
  void* library = decide(loaded);
  if (library == the_runtime) library = open_loaded(loaded.runtime);
  void* const function = library == nullptr ? nullptr : find(library, slot->name);
  if (function == nullptr) return nothing;
  __atomic_store_n(&slot->function, function, __ATOMIC_RELEASE);
  return function;
}

// Null: the loader answers.
__attribute__((visibility("hidden"), used)) void* headroom_preload_answer_dlsym(
    void* handle, const char* name, const void* caller) {
  if (name == nullptr || name[0] != 'h' || name[1] != 'i' || handle == RTLD_NEXT) return nullptr;
  const Slot* const slot = find_slot(name);
  void* const library = read_decided();
  DlSym* const find = loader_dlsym();
  if (slot == nullptr || library == the_runtime || find == nullptr) return nullptr;
  if (library == nullptr) {
    if (is_headroom(caller)) return nullptr;
    return find(handle, name) == nullptr ? nullptr : slot->stub;
  }
  using Answer = void*(void*, const char*, const void*);
  auto* const answer = reinterpret_cast<Answer*>(find(library, "headroom_hip_answer_dlsym"));
  return answer == nullptr ? nullptr : answer(handle, name, caller);
}

__attribute__((visibility("hidden"), used)) void* headroom_preload_loader_dlsym() {
  return reinterpret_cast<void*>(loader_dlsym());
}
}
