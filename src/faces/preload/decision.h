// SPDX-License-Identifier: Apache-2.0
// Who serves this process: libheadroom_hip.so, or the runtime itself. It is decided once, at the
// first call of HIP or when the runtime hands out its table of functions, whichever comes first.
#pragma once

#include "faces/preload/loaded.h"

namespace headroom::preload {

// libheadroom_hip.so if it serves; null if the runtime does, and after that ever. If it cannot be
// opened though it should serve, one line on standard error says why.
void* decide(const Loaded& loaded);

// The same without deciding: `is_decided` says whether it was.
struct Decided {
  bool is_decided = false;
  void* library = nullptr;
};
Decided read_decided();

}  // namespace headroom::preload
