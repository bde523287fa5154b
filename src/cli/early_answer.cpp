// SPDX-License-Identifier: Apache-2.0
#include "cli/early_answer.h"

#include <algorithm>

namespace headroom::cli {
namespace {

using Time = EarlyAnswer::Time;

constexpr double clear_confidence = 0.8;
constexpr Time pause{300};
constexpr Time between_looks{1000};
// A traceback or a kernel's report is written within this.
constexpr Time quiet_for{1500};
// A job that fails again and again is answered nevertheless.
constexpr Time same_long_enough{10'000};
constexpr Time longest_wait{500};
// So much at once is an old log being read out, and its end may say more.
constexpr std::uint64_t read_out_bytes = std::uint64_t{1} << 20U;

}  // namespace

void EarlyAnswer::add_data(Time now, std::uint64_t bytes) {
  last_data_ = now;
  new_bytes_ += bytes;
}

std::optional<Time> EarlyAnswer::next_look() const {
  if (new_bytes_ > 0) return std::min(last_data_ + pause, last_look_ + between_looks);
  if (candidate_) return std::max(candidate_->quiet_since + quiet_for, last_look_ + pause);
  return std::nullopt;
}

bool EarlyAnswer::is_time_to_look(Time now) const {
  const auto due = next_look();
  return due && now >= *due;
}

bool EarlyAnswer::is_clear(Time now, const Look& look) {
  const bool is_read_out = new_bytes_ >= read_out_bytes;
  last_look_ = now;
  new_bytes_ = 0;
  const bool is_answer = look.cause != "none" && look.cause != "insufficient-evidence" &&
                         look.confidence >= clear_confidence;
  if (!is_answer) {
    candidate_.reset();
    return false;
  }
  if (!candidate_ || candidate_->cause != look.cause || is_read_out) {
    candidate_ = Candidate{look.cause, look.failures, now, now};
    return false;
  }
  if (candidate_->failures != look.failures) {
    candidate_->failures = look.failures;
    candidate_->quiet_since = now;
  }
  return now - candidate_->quiet_since >= quiet_for || now - candidate_->since >= same_long_enough;
}

Time EarlyAnswer::patience(Time now) const {
  const auto due = next_look();
  if (!due) return longest_wait;
  return std::clamp(*due - now, Time{0}, longest_wait);
}

}  // namespace headroom::cli
