// SPDX-License-Identifier: Apache-2.0
// How much power the processor takes, by the counters of its packages (Linux:
// Documentation/power/powercap/powercap.rst, "intel-rapl", which AMD's processors have too).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "machine/files.h"

namespace headroom::service {

// From its construction on. `files` must outlive it.
class PowerLook {
 public:
  explicit PowerLook(const machine::Files& files);
  // The mean since then, of all packages together, idle or not; nothing where the counters cannot
  // be read, which takes root.
  std::optional<double> watts() const;

 private:
  const machine::Files& files_;
  std::vector<std::uint64_t> before_uj_;
  std::uint64_t began_ns_;
};

}  // namespace headroom::service
