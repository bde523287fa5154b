// SPDX-License-Identifier: Apache-2.0
#include "cli/built_with.h"

#include "base/version.h"

namespace headroom::cli {

// cmake/BuiltWith.cmake defines the last text for this file alone.
std::string describe_build() {
  return std::string("headroom ") + program_version() + "\nbuilt for " HEADROOM_BUILT_WITH;
}

}  // namespace headroom::cli
