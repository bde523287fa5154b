// SPDX-License-Identifier: Apache-2.0
// How much a test does that could go on for minutes: a fixed sample in `./dev test`, everything in
// `./dev test --all`.
#pragma once

#include <cstddef>

namespace headroom::testing {

// How far to go from one case to the next: `sampled`, or 1 if HEADROOM_TEST_ALL is set. A sample
// that begins at `number % stride` for one test, subject or round after the other leaves no case
// out altogether.
std::size_t stride(std::size_t sampled);

}  // namespace headroom::testing
