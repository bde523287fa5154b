// SPDX-License-Identifier: Apache-2.0
// What came of carrying a plan out: rung by rung, with times and what each gave back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/reclaim/measurement.h"
#include "plan/reclaim/rung.h"

namespace headroom::plan {

struct RungDone {
  Rung rung = Rung::name;
  std::uint64_t started_ms = 0, ended_ms = 0;  // Since the first measurement.
  std::vector<std::string> did;  // Sentences: "asked python3 (PID 4711): it ended after 0.4 s".
  std::string skipped;           // Why it was not taken; empty: it was.
  std::string failed;            // What went wrong; empty: nothing.
  std::optional<Bytes> freed;    // Since the rung before; nothing where it could not be measured.
};

enum class ReclaimEnd {
  nothing_to_do,  // Enough was free already.
  enough,
  not_enough,  // All rungs that were asked for are behind us.
  broken_off,  // A rung hung, or the memory could not be measured any more.
  for_host,    // A plan for the host: nothing was done.
};

struct ReclaimOutcome {
  ReclaimEnd end = ReclaimEnd::not_enough;
  std::vector<RungDone> timeline;
  std::optional<Measurement> before, after;
  std::string why;  // Of broken_off.
};

std::string_view to_string(ReclaimEnd end);

}  // namespace headroom::plan
