// SPDX-License-Identifier: Apache-2.0
// Memory that grows towards its limit: whether it does, how fast, and when it gets there. A job that
// fills its caches and levels off does not grow.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "base/bytes.h"
#include "supervisor/policy.h"

namespace headroom::supervisor {

struct Growth {
  double bytes_per_s = 0;
  Time reaches_limit{0};  // When, at this rate.
};

// Keeps a bounded number of samples, whatever the time they cover. One thread.
class GrowthWatch {
 public:
  explicit GrowthWatch(Bytes limit) : limit_(limit) {}

  void add(Bytes used, Time now);
  // Nothing while too little is known, and where it levels off or goes up and down.
  std::optional<Growth> growth(Time now) const;

 private:
  struct Sample {
    Time when{0};
    Bytes used;
  };
  Bytes limit_;
  std::deque<Sample> samples_;
};

}  // namespace headroom::supervisor
