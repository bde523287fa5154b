// SPDX-License-Identifier: Apache-2.0
// Converts a C caller's options, of any version, to the present version's.
#pragma once

#include <headroom/allocator.h>

#include "base/result.h"

namespace headroom::allocator::c_api {

// Fails if they make no sense, or if a newer caller sets a member that this library does not know.
Result<headroom_allocator_options> read_options(const headroom_allocator_options* options);

}  // namespace headroom::allocator::c_api
