// SPDX-License-Identifier: Apache-2.0
// The functions of HIP as headroom answers them, whichever way a program came to them: by a symbol,
// by dlsym() or by the runtime's table.
#pragma once

#include "faces/hip/headroom_hip.h"
#include "faces/hip/interposed_names.h"

// Each is declared like HIP's own, and documented there (headroom_hip.h).
namespace headroom::hip_face::served {
// NOLINTBEGIN(cppcoreguidelines-macro-usage,readability-identifier-naming): HIP's names.
#define HEADROOM_SERVED(name, place) decltype(::name) name;
HEADROOM_INTERPOSED(HEADROOM_SERVED)
#undef HEADROOM_SERVED
// NOLINTEND(cppcoreguidelines-macro-usage,readability-identifier-naming)
}  // namespace headroom::hip_face::served
