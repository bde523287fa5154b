// SPDX-License-Identifier: Apache-2.0
#include "stand_ins/hip_front.h"

#include <cstdint>
#include <cstring>

extern "C" {

// Of libfake_hip.so.
extern void* const fake_hip_functions[];

// Of librocprofiler-register.so.0.
int rocprofiler_register_library_api_table(const char* name, std::uint32_t (*import)(),
                                           std::uint32_t version, void** tables,
                                           std::uint64_t count, void* id);

__attribute__((visibility("default"))) std::uint32_t rocprofiler_register_import_hip() {
  return 70200;
}

__attribute__((visibility("hidden"))) void** front_table = nullptr;
__attribute__((visibility("hidden"))) void* const* front_functions = fake_hip_functions;

// As the runtime does: nobody gets to the table before it was handed out.
__attribute__((visibility("hidden"), used)) void* front_open() {
  static void** const made = [] {
    const std::uint64_t bytes = (front_table_count + 1) * sizeof(void*);
    std::memcpy(fake_hip_table, &bytes, sizeof bytes);
    for (unsigned long i = 0; i < front_all_count; ++i)
      fake_hip_table[i + 1] = reinterpret_cast<void*>(front_own[i]);
    void* table = fake_hip_table;
    std::uint64_t id = 0;
    rocprofiler_register_library_api_table("hip", &rocprofiler_register_import_hip, 70200, &table,
                                           1, &id);
    __atomic_store_n(&front_table, &fake_hip_table[0], __ATOMIC_RELEASE);
    return &fake_hip_table[0];
  }();
  return made;
}
}

asm(R"(
  .text
  .type front_first_call, @function
  .globl front_first_call
  .hidden front_first_call
front_first_call:
  push %rdi
  push %rsi
  push %rdx
  push %rcx
  push %r8
  push %r9
  push %r11
  call front_open
  pop %r11
  pop %r9
  pop %r8
  pop %rcx
  pop %rdx
  pop %rsi
  pop %rdi
  add %rax, %r11
  jmp *(%r11)
  .size front_first_call, .-front_first_call
)");
