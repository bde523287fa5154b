// SPDX-License-Identifier: Apache-2.0
#include "plan/reclaim/outcome.h"

namespace headroom::plan {

std::string_view to_string(ReclaimEnd end) {
  switch (end) {
    case ReclaimEnd::nothing_to_do:
      return "nothing-to-do";
    case ReclaimEnd::enough:
      return "enough";
    case ReclaimEnd::not_enough:
      return "not-enough";
    case ReclaimEnd::broken_off:
      return "broken-off";
    case ReclaimEnd::for_host:
      break;
  }
  return "for-host";
}

}  // namespace headroom::plan
