// SPDX-License-Identifier: Apache-2.0
// What a C program passes in, read and checked.
#pragma once

#include <headroom/averager.h>

#include "averager/averager.h"
#include "base/result.h"

namespace headroom::averager::c_api {

// Both fail with invalid for a null pointer or a size that is not that of the struct.
Result<Options> read_options(const headroom_averager_options* given);
Result<Request> read_bucket(const headroom_averager_bucket* given);

}  // namespace headroom::averager::c_api
