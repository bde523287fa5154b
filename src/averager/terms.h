// SPDX-License-Identifier: Apache-2.0
// Whether what a caller asks for makes a segment.
#pragma once

#include <cstdint>

#include "averager/layout.h"
#include "base/result.h"

namespace headroom::averager {

// Fails with invalid for numbers out of range; then nothing was touched.
Status check_terms(const Terms& terms, std::uint32_t rank);

}  // namespace headroom::averager
