// SPDX-License-Identifier: Apache-2.0
#include "machine/acts_when_read.h"

#include <algorithm>

namespace headroom::machine {

bool acts_when_read(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return std::find(files_that_act.begin(), files_that_act.end(), name) != files_that_act.end();
}

}  // namespace headroom::machine
