// SPDX-License-Identifier: Apache-2.0
#include "machine/user.h"

#include <unistd.h>

namespace headroom::machine {

bool runs_as_root() {
  return ::geteuid() == 0;
}

}  // namespace headroom::machine
