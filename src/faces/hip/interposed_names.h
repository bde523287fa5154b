// SPDX-License-Identifier: Apache-2.0
// Which functions of HIP somebody gets who asks for them by name.
#pragma once

#include <string_view>

namespace headroom::hip_face {

// What programs get: null for what is the runtime's.
void* find_interposed(std::string_view name);

// What the allocator itself gets: the runtime's own, watched. Null for all others.
void* find_watched(std::string_view name);

}  // namespace headroom::hip_face
