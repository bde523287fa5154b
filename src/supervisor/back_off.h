// SPDX-License-Identifier: Apache-2.0
// How long to wait before a crashed command is started again: twice as long each time, so that a
// command that crashes at once does not use the machine up.
#pragma once

#include "supervisor/policy.h"

namespace headroom::supervisor {

// One thread.
class BackOff {
 public:
  explicit BackOff(const Policy& policy);

  // The wait after an attempt that ran for so long. An attempt of ten times the longest wait (ten
  // minutes, by default) ran well: what crashes that seldom costs the machine nothing that waiting
  // could save, so that the waits begin anew.
  Time next(Time ran);

 private:
  Time first_, longest_, next_;
};

}  // namespace headroom::supervisor
