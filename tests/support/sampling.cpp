// SPDX-License-Identifier: Apache-2.0
#include "support/sampling.h"

#include <cstdlib>

namespace headroom::testing {

std::size_t stride(std::size_t sampled) {
  return std::getenv("HEADROOM_TEST_ALL") != nullptr ? 1 : sampled;
}

}  // namespace headroom::testing
