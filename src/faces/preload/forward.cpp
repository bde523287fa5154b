// SPDX-License-Identifier: Apache-2.0
// Where a call of HIP goes to, and what dlsym() answers.
#include <dlfcn.h>

#include "faces/preload/decision.h"
#include "faces/preload/loaded.h"
#include "faces/preload/slots.h"

namespace headroom::preload {
namespace {

constexpr int not_initialized = 3;  // hipErrorNotInitialized.

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
  if (library == nullptr) library = open_loaded(loaded.runtime);
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
  const auto [is_decided, library] = read_decided();
  DlSym* const find = loader_dlsym();
  if (slot == nullptr || (is_decided && library == nullptr) || find == nullptr) return nullptr;
  if (!is_decided) {
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
