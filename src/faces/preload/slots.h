// SPDX-License-Identifier: Apache-2.0
// libheadroom_preload.so: what `headroom run --allocator` preloads. It comes into every child of a
// command, so it needs nothing but the C library, and does nothing until the program calls a
// function of HIP that libheadroom_hip.so serves; only then is that one opened.
#pragma once

namespace headroom::preload {

// A function of HIP that is interposed. The code in stubs.cpp knows this layout.
struct Slot {
  const char* name;
  void* stub;      // What programs call.
  void* function;  // Where the stub jumps to; null before the first call. Written once.
};

// Null if no function of that name is interposed.
Slot* find_slot(const char* name);

}  // namespace headroom::preload
