// SPDX-License-Identifier: Apache-2.0
#include "findings/health.h"

namespace headroom::findings {

Health health_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::ok:
    case Verdict::limited:
      return Health::fine;
    case Verdict::broken:
    case Verdict::unsuitable:
    case Verdict::no_gpu:
      return Health::problem;
    case Verdict::unknown:
      break;
  }
  return Health::unknown;
}

}  // namespace headroom::findings
