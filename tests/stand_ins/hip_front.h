// SPDX-License-Identifier: Apache-2.0
// The stand-in for libamdhip64 with the runtime's own table, as AMD builds it: what it exports
// jumps through HipDispatchTable, which is made at the first call and handed to
// rocprofiler-register. The functions themselves are in libfake_hip.so, whose names nobody sees.
#pragma once

// By CMake, from hip_table.txt: how many functions are in the runtime's table and how many there
// are, the table with what is behind its end, and what it begins with.
extern "C" {
extern const unsigned long front_table_count;
extern const unsigned long front_all_count;
extern void* fake_hip_table[];  // The first word is its size in bytes.
extern void (*const front_own[])();
}

// A function that is exported, and the one that the table begins with. `offset` is that of the
// place in the table. r11 is nobody's across a call (System V ABI, AMD64).
#define HEADROOM_FRONT_STUB(name, offset)                             \
  extern "C" __attribute__((visibility("hidden"))) void own_##name(); \
  asm(".text\n.globl " #name "\n.type " #name ", @function\n" #name   \
      ":\n"                                                           \
      "  mov front_table(%rip), %r11\n"                               \
      "  test %r11, %r11\n"                                           \
      "  je 1f\n"                                                     \
      "  jmp *" #offset                                               \
      "(%r11)\n"                                                      \
      "1: mov $" #offset                                              \
      ", %r11d\n"                                                     \
      "  jmp front_first_call\n"                                      \
      ".size " #name ", .-" #name                                     \
      "\n"                                                            \
      ".globl own_" #name "\n.hidden own_" #name                      \
      "\n"                                                            \
      ".type own_" #name ", @function\nown_" #name                    \
      ":\n"                                                           \
      "  mov front_functions(%rip), %r11\n"                           \
      "  jmp *(" #offset                                              \
      "-8)(%r11)\n"                                                   \
      ".size own_" #name ", .-own_" #name "\n");
