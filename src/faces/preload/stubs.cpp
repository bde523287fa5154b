// SPDX-License-Identifier: Apache-2.0
// The functions under HIP's names, and dlsym(). They jump, they do not call: the arguments stay as
// they are whatever their number, and the return address stays the program's, by which
// libheadroom_hip.so and RTLD_NEXT know who asks.
#include "faces/hip/interposed_names.h"
#include "faces/preload/slots.h"

#if !defined(__x86_64__)
#error "libheadroom_preload.so is for x86-64, as ROCm is; build without it elsewhere"
#endif

// NOLINTBEGIN(cppcoreguidelines-macro-usage,cppcoreguidelines-avoid-non-const-global-variables)
extern "C" {
#define HEADROOM_SLOT(name, place)                                                          \
  __attribute__((visibility("hidden"))) void headroom_stub_##name();                        \
  __attribute__((visibility("hidden"), used)) headroom::preload::Slot headroom_slot_##name{ \
      #name, reinterpret_cast<void*>(&headroom_stub_##name), nullptr};
HEADROOM_INTERPOSED(HEADROOM_SLOT)
}

// `function` is the third word of a slot. r11 is nobody's across a call (System V ABI, AMD64).
// clang-format off
#define HEADROOM_STUB(name, place)                      \
  ".globl " #name "\n"                                  \
  ".type " #name ", @function\n"                        \
  ".globl headroom_stub_" #name "\n"                    \
  ".hidden headroom_stub_" #name "\n"                   \
  #name ":\n"                                           \
  "headroom_stub_" #name ":\n"                          \
  "  endbr64\n"                                         \
  "  mov headroom_slot_" #name "+16(%rip), %r11\n"      \
  "  test %r11, %r11\n"                                 \
  "  je 1f\n"                                           \
  "  jmp *%r11\n"                                       \
  "1: lea headroom_slot_" #name "(%rip), %r11\n"        \
  "  jmp headroom_preload_first_call\n"                 \
  ".size " #name ", .-" #name "\n"
// clang-format on
asm(".text\n" HEADROOM_INTERPOSED(HEADROOM_STUB));
// NOLINTEND(cppcoreguidelines-macro-usage,cppcoreguidelines-avoid-non-const-global-variables)

// The slot is in r11. No argument of these functions is a floating-point number.
asm(R"(
  .type headroom_preload_first_call, @function
headroom_preload_first_call:
  push %rdi
  push %rsi
  push %rdx
  push %rcx
  push %r8
  push %r9
  sub $8, %rsp
  mov %r11, %rdi
  call headroom_preload_find
  mov %rax, %r11
  add $8, %rsp
  pop %r9
  pop %r8
  pop %rcx
  pop %rdx
  pop %rsi
  pop %rdi
  jmp *%r11
  .size headroom_preload_first_call, .-headroom_preload_first_call
)");

// Programs that were built before glibc 2.34 ask for the other version.
asm(R"(
  .globl headroom_dlsym_new
  .globl headroom_dlsym_old
  .symver headroom_dlsym_new, dlsym@GLIBC_2.34, remove
  .symver headroom_dlsym_old, dlsym@GLIBC_2.2.5, remove
  .type headroom_dlsym_new, @function
  .type headroom_dlsym_old, @function
headroom_dlsym_new:
headroom_dlsym_old:
  endbr64
  push %rdi
  push %rsi
  mov 16(%rsp), %rdx
  sub $8, %rsp
  call headroom_preload_answer_dlsym
  add $8, %rsp
  test %rax, %rax
  jne 1f
  sub $8, %rsp
  call headroom_preload_loader_dlsym
  add $8, %rsp
  pop %rsi
  pop %rdi
  test %rax, %rax
  je 2f
  jmp *%rax
1:
  pop %rsi
  pop %rdi
2:
  ret
  .size headroom_dlsym_new, .-headroom_dlsym_new
  .size headroom_dlsym_old, .-headroom_dlsym_old
)");

namespace headroom::preload {

Slot* find_slot(const char* name) {
#define HEADROOM_ADDRESS(function, place) &headroom_slot_##function,
  Slot* const slots[] = {HEADROOM_INTERPOSED(HEADROOM_ADDRESS)};
#undef HEADROOM_ADDRESS
  const std::string_view wanted = name;
  for (Slot* const slot : slots)
    if (wanted == slot->name) return slot;
  return nullptr;
}

}  // namespace headroom::preload
