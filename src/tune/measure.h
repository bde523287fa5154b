// SPDX-License-Identifier: Apache-2.0
// What a trial of a service comes to: the time that one more item takes, from the times of single
// requests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "tune/grid.h"

namespace headroom::tune {

// One trial of a point, as it came out.
struct Measured {
  enum class End : std::uint8_t {
    passed,
    failed,  // It did not start, or gave a wrong answer, or none.
    memory,  // It took more memory than it may.
  };
  End end = End::passed;
  std::vector<double> requests_ms;  // Of the answers, in this order.
  std::optional<Bytes> peak;        // Of all its processes together.
  std::string why;                  // Of one that did not pass.
};

// The requests of a trial that only warm it up: those that are under way while the first worker
// loads its model, and two for every further worker, which loads its own. 64 at most.
std::uint64_t warm_up_of(const Space& space, const Point& point, std::uint64_t at_once);

// The time that one more item takes where requests never wait for their senders: the mean time of
// the requests after the warm-up, divided by how many are under way at once (Little's law). A
// quarter of them at most is left out where they took more than 2.5 times the median: models are
// loaded late, and machines have other things to do. The warm-up is never more than half of them.
// Nothing where none is left.
std::optional<double> item_ms(const std::vector<double>& requests_ms, std::uint64_t at_once,
                              std::uint64_t warm_up);

// The requests that count for it.
std::vector<double> counted_of(const std::vector<double>& requests_ms, std::uint64_t warm_up);

// How far such requests lie from their mean, as a part of it; from 0.02 to 0.3.
double noise_of(const std::vector<double>& counted);

}  // namespace headroom::tune
