// SPDX-License-Identifier: Apache-2.0
// A machine at one moment as Prometheus metrics. Their names, labels and meanings are the table of
// docs/serve.md, which people build alerts and dashboards on: none is renamed.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "live/moment.h"

namespace headroom::report {

// How often this process has looked, and how often in vain.
struct LookCounts {
  std::uint64_t looks = 0;
  std::uint64_t failures = 0;
  std::optional<std::chrono::milliseconds> last_good = {};  // Since 1970.
};

// What is not known has no sample: it is never 0.
std::string metrics_text(const live::Moment& moment, const LookCounts& counts);
// Where the machine could not be looked at: that nothing is known, and since when.
std::string metrics_text(const LookCounts& counts);

}  // namespace headroom::report
