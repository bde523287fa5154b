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
  std::optional<Bytes> memory;
};

class Pace {
 public:
  // `limit`: one that is enforced by adding up, and by no kernel. `hang` as in the policy.
  Pace(std::optional<Bytes> limit, std::optional<supervisor::Time> hang)
      : limit_(limit), hang_(hang) {}

  // Returns how long to wait for the next look, after one that found this.
  supervisor::Time next(const Look& look);

 private:
  bool is_idle(const Look& look, supervisor::Time since) const;
  supervisor::Time before_limit(const Look& look) const;

  std::optional<Bytes> limit_;
  std::optional<supervisor::Time> hang_;
  std::optional<Look> before_;
  supervisor::Time wait_{25};
};

}  // namespace headroom::run
