// SPDX-License-Identifier: Apache-2.0
#include "live/moment.h"

namespace headroom::live {

RunCounts count_runs(const std::vector<supervisor::PastCommand>& attempts) {
  RunCounts counts;
  for (const supervisor::PastCommand& attempt : attempts) {
    if (attempt.out_of_memory) {
      ++counts.out_of_memory;
    } else if (attempt.exit.code == 0) {
      ++counts.completed;
    } else {
      ++counts.failed;
    }
  }
  return counts;
}

}  // namespace headroom::live
