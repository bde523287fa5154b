// SPDX-License-Identifier: Apache-2.0
// dlsym() for programs that open the runtime themselves. Only names of HIP that are served here are
// answered; all else goes on to the loader's own function with the caller's return address on the
// stack, because RTLD_NEXT means the library of whoever calls.
#include <dlfcn.h>

#include <string_view>

#include "faces/hip/headroom_hip.h"
#include "faces/hip/interposed_names.h"
#include "faces/hip/runtime.h"

namespace headroom::hip_face {
namespace {

// Whether the loader finds the name there, and not in this library itself.
bool is_of_runtime(void* handle, const char* name) {
  const void* const found = real_dlsym(handle, name);
  return found != nullptr && !is_headroom(found);
}

}  // namespace
}  // namespace headroom::hip_face

extern "C" {

void* headroom_hip_answer_dlsym(void* handle, const char* name, const void* caller) {
  using namespace headroom::hip_face;  // NOLINT(google-build-using-namespace)
  if (name == nullptr || name[0] != 'h' || handle == RTLD_NEXT) return nullptr;
  void* const ours = find_interposed(name);
  if (ours == nullptr || !is_of_runtime(handle, name)) return nullptr;
  return is_headroom(caller) ? find_watched(name) : ours;
}

// The loader's own, of the version that programs had before glibc 2.34 or have since.
__attribute__((visibility("hidden"), used)) void* headroom_loader_dlsym() {
  void* const found = ::dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  return found != nullptr ? found : ::dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
}
}

#if defined(__x86_64__)
// System V ABI, AMD64: the arguments are in rdi and rsi, the return address is on top of the stack.
asm(R"(
  .text
  .globl dlsym
  .type dlsym, @function
dlsym:
  endbr64
  push %rdi
  push %rsi
  mov 16(%rsp), %rdx
  sub $8, %rsp
  call headroom_hip_answer_dlsym@PLT
  add $8, %rsp
  test %rax, %rax
  jne 1f
  sub $8, %rsp
  call headroom_loader_dlsym
  add $8, %rsp
  pop %rsi
  pop %rdi
  jmp *%rax
1:
  pop %rsi
  pop %rdi
  ret
  .size dlsym, .-dlsym
)");
#else
#error "libheadroom_hip.so is for x86-64, as ROCm is; build without it elsewhere"
#endif
