// SPDX-License-Identifier: Apache-2.0
// The HIP runtime behind the interposed functions, and who may not be interposed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headroom::hip_face {

// hipError_t.
inline constexpr int success = 0;
inline constexpr int invalid_value = 1;
inline constexpr int out_of_memory = 2;
inline constexpr int not_initialized = 3;
inline constexpr int not_supported = 801;
inline constexpr int capture_unsupported = 900;

// The loader's own dlsym().
void* real_dlsym(void* handle, const char* name);

// A function of the runtime that the process has loaded; null if it has none.
void* find_in_runtime(const char* name);

template <class Function>
Function* runtime_function(const char* name) {
  return reinterpret_cast<Function*>(find_in_runtime(name));
}

// rocprofiler_register_library_api_table() of the next library that has one; null if none does.
void* find_next_register();
template <class Function>
Function* find_register(Function* /*interposed*/) {
  return reinterpret_cast<Function*>(find_next_register());
}
inline constexpr int no_tools = 1;  // ROCP_REG_NO_TOOLS

// Where the library begins to which this code belongs; null if to none.
const void* base_of(const void* code);

// Whether the code at this address belongs to libheadroom_allocator.so or to this library: their
// own calls must reach the runtime.
bool is_headroom(const void* code);

// Whether PyTorch's allocator is headroom's in this process.
bool has_torch_library();

}  // namespace headroom::hip_face
