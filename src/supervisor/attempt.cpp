// SPDX-License-Identifier: Apache-2.0
#include "supervisor/attempt.h"

namespace headroom::supervisor {

std::string_view to_string(EndedBy ended_by) {
  switch (ended_by) {
    case EndedBy::itself:
      return "itself";
    case EndedBy::headroom:
      return "headroom";
    case EndedBy::kernel:
      return "kernel";
    case EndedBy::user:
      break;
  }
  return "user";
}

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::completed:
      return "completed";
    case Outcome::failed:
      return "failed";
    case Outcome::gave_up:
      return "gave-up";
    case Outcome::stopped:
      break;
  }
  return "stopped";
}

}  // namespace headroom::supervisor
