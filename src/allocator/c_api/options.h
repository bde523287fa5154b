// SPDX-License-Identifier: Apache-2.0
// A C caller's options, of whatever version, as the present version's.
#pragma once

#include <headroom/allocator.h>

#include "base/result.h"

namespace headroom::allocator::c_api {

// Fails where they make no sense, and where a newer caller sets what this library does not know.
Result<headroom_allocator_options> read_options(const headroom_allocator_options* options);

}  // namespace headroom::allocator::c_api
