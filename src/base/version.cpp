// SPDX-License-Identifier: Apache-2.0
#include "base/version.h"

namespace headroom {

// CMakeLists.txt defines the text for this file alone.
const char* program_version() {
  return HEADROOM_VERSION;
}

}  // namespace headroom
