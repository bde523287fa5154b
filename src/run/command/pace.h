// SPDX-License-Identifier: Apache-2.0
// How often to look at a command: often while it begins and while its memory comes near a limit
// that nobody else enforces, about each second while it works, and every few seconds while nothing
// changes, so that watching an idle service costs nothing that anyone would see.
#pragma once

#include <optional>

#include "base/bytes.h"
#include "supervisor/policy.h"

namespace headroom::run {

struct Look {
  std::uint64_t output_bytes = 0;
  std::uint64_t processor_ms = 0;
  std::uint64_t gpu_ms = 0;
  // Until a limit that no kernel enforces; nothing where there is none.
  std::optional<Bytes> left;
};

class Pace {
 public:
  // `hang` as in the policy.
  explicit Pace(std::optional<supervisor::Time> hang) : hang_(hang) {}

  // Returns how long to wait for the next look, after one that found this.
  supervisor::Time next(const Look& look);

 private:
  bool is_idle(const Look& look, supervisor::Time since) const;

  std::optional<supervisor::Time> hang_;
  std::optional<Look> before_;
  supervisor::Time wait_{25};
};

}  // namespace headroom::run
