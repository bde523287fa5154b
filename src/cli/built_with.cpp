// SPDX-License-Identifier: Apache-2.0
#include "cli/built_with.h"

namespace headroom::cli {

// cmake/BuiltWith.cmake defines the second text for this file alone.
std::string describe_build() {
  return "headroom " HEADROOM_VERSION "\nbuilt for " HEADROOM_BUILT_WITH;
}

}  // namespace headroom::cli
