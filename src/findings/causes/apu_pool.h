// SPDX-License-Identifier: Apache-2.0
// How much of the system's memory an APU's GPU may use, as a log shows it, and who set that limit:
// half of the RAM is TTM's default, a number that an option names is the administrator's, and a
// number equal to the BIOS carve-out is the carve-out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "findings/causes/cause_rule.h"
#include "findings/causes/device_memory.h"

namespace headroom::findings {

struct ApuPool {
  std::optional<Bytes> limit;                  // How much the job can get.
  std::optional<Bytes> carve_out;              // As the kernel tells or as stated.
  std::optional<Bytes> ram;                    // Without the carve-out.
  std::optional<Bytes> pages_limit, gttsize;   // As set by options.
  const logs::Observation* seen = nullptr;     // The line that shows the limit; may be nullptr.
  const logs::Observation* failure = nullptr;  // An allocation that failed; may be nullptr.
  std::optional<Bytes> asked;                  // What that allocation asked for.
  bool counts_carve_out = false;  // The program counts on the carve-out, but GTT is larger.

  bool limit_is(std::optional<Bytes> other) const;  // Compares with a tolerance.
  bool limit_is_half_of_ram() const;
  // Whether the carve-out is larger than what the job can get.
  bool carve_out_is_idle() const;
};

// Nothing if the job's GPU is not an APU's.
std::optional<ApuPool> apu_pool(const LogSubject& subject);

// The evidence and the steps that the three rules about these limits share.
void show_pool(const LogSubject& subject, const ApuPool& pool, Hypothesis& hypothesis);
// To as much as the RAM allows; a rule of thumb where the RAM is not known.
std::vector<Step> steps_to_raise_pool(const LogSubject& subject, const ApuPool& pool);

// "Radeon 8060S", or "the integrated GPU".
std::string apu_name(const LogSubject& subject);

}  // namespace headroom::findings
