// SPDX-License-Identifier: Apache-2.0
// Memory that grows towards its limit: whether it does, how fast, and when it gets there. A job
// that fills its caches and levels off does not grow, nor does one that goes up and down.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "supervisor/policy.h"

namespace headroom::supervisor {

struct Growth {
  double bytes_per_s = 0;
  Time reaches_limit{0};  // When, at this rate.
  Time observed{0};       // For how long it has grown like this.
};

// Keeps the same times at several resolutions: the newest moments finely, older ones twice as
// coarsely from level to level, each as the highest value in it. So a leak of minutes is seen as
// well as one of weeks, and less than a thousand values are kept whatever the time they cover.
//
// A level shows growth where four things hold. Its values rise by the median of the slopes of all
// pairs (Theil 1950, Sen 1968), which single peaks do not move, and each third of it stands above
// the one before. No value before it was higher than its last third; else it is the rising edge of
// a sawtooth. It does not level off: if the second half rises more slowly than the first, by the
// ratio r, and every further one by r again, it still reaches the limit. And it reaches the limit
// within three times the time observed; what lies further ahead cannot be told from a cache that
// fills.
//
// The first rise of a sawtooth, and a file that is loaded steadily for as long as `shortest`, do
// look like growth.
//
// One thread.
class GrowthWatch {
 public:
  // `shortest`: what is observed for less is not judged. At least 24 ms.
  explicit GrowthWatch(Bytes limit, Time shortest = std::chrono::minutes(2));

  // Requires: `now` is not before that of the last call.
  void add(Bytes used, Time now);
  // Nothing while too little is known, and where it levels off or goes up and down.
  std::optional<Growth> growth(Time now) const;

 private:
  struct Sample {
    Time when{0};
    double used = 0;  // In bytes; the highest in its span.
  };
  struct Level {
    Time width{0};
    std::deque<Sample> samples = {};
    std::optional<Sample> open = {};  // The span that is not over yet.
    Time opened{0};
  };

  void add(std::size_t level, const Sample& sample);
  double highest_before(Time when) const;
  std::optional<Growth> judge(const Level& level, Time now) const;

  Bytes limit_;
  Time shortest_;
  std::vector<Level> levels_;
  double highest_forgotten_ = 0;  // By the coarsest level.
};

}  // namespace headroom::supervisor
