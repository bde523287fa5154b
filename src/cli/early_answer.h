// SPDX-License-Identifier: Apache-2.0
// When a log that is still being written is looked at, and when its answer is given: as soon as one
// cause is clear and nothing that might change it is coming. Time comes in as an argument.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace headroom::cli {

class EarlyAnswer {
 public:
  using Time = std::chrono::milliseconds;  // Since some fixed moment.

  // What a look showed.
  struct Look {
    std::string cause;
    double confidence = 0;
    std::uint64_t failures = 0;  // How many lines tell of a failure.
  };

  explicit EarlyAnswer(Time now) : last_data_(now), last_look_(now) {}

  void add_data(Time now, std::uint64_t bytes);
  // At a pause, and at most every second while data comes.
  bool is_time_to_look(Time now) const;
  // Takes a look down; true if its answer is to be given now.
  bool is_clear(Time now, const Look& look);
  // How long to wait for data before asking again.
  Time patience(Time now) const;

 private:
  struct Candidate {
    std::string cause;
    std::uint64_t failures = 0;
    Time since{0};        // The same answer at every look.
    Time quiet_since{0};  // And no new failure.
  };
  // When the next look is due; nothing if nothing is to be seen.
  std::optional<Time> next_look() const;

  Time last_data_, last_look_;
  std::uint64_t new_bytes_ = 0;  // Since the last look.
  std::optional<Candidate> candidate_;
};

}  // namespace headroom::cli
