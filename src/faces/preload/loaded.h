// SPDX-License-Identifier: Apache-2.0
// What the process has loaded, and the loader's own functions. Those that moved between libraries
// in glibc 2.34 are asked for in their old version and may be absent (null), so that this library
// starts in programs under any glibc and, doing nothing, under musl.
#pragma once

namespace headroom::preload {

// The loader's own dlsym(); null where the program has none.
using DlSym = void*(void*, const char*);
DlSym* loader_dlsym();

// A library, if the process has it; never loads one. Null otherwise.
void* open_loaded(const char* path);

struct Loaded {
  static constexpr int longest = 4096;
  // PyTorch for ROCm, or headroom's library for it or for ONNX Runtime: one allocator in a process.
  bool has_other_face = false;
  bool has_runtime = false;             // A HIP runtime.
  bool is_known_runtime = false;        // Under a name that libheadroom_hip.so looks for.
  char runtime[longest] = {};           // Its path.
  char register_library[longest] = {};  // The path of librocprofiler-register.so; empty: none.
};

// Looks through the libraries of the process.
Loaded look_at_loaded();

// Whether the code at this address belongs to libheadroom_allocator.so or libheadroom_hip.so, whose
// own calls must reach the runtime.
bool is_headroom(const void* code);

}  // namespace headroom::preload
