// SPDX-License-Identifier: Apache-2.0
#include "support/sampling.h"

#include <cstdlib>

namespace headroom::testing {

bool wants_everything() {
  return std::getenv("HEADROOM_TEST_ALL") != nullptr;
}

std::size_t stride(std::size_t sampled) {
  return wants_everything() ? 1 : sampled;
}

}  // namespace headroom::testing
