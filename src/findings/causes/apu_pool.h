// SPDX-License-Identifier: Apache-2.0
// What an APU's GPU may have of the system's memory, as a log shows it, and who set that: half of
// the RAM is TTM's default, a number that options name is the administrator's, and what equals the
// BIOS carve-out is the carve-out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "findings/causes/cause_rule.h"
#include "findings/causes/device_memory.h"

namespace headroom::findings {

struct ApuPool {
  std::optional<Bytes> limit;                  // What the job can get.
  std::optional<Bytes> carve_out;              // By the kernel or as stated.
  std::optional<Bytes> ram;                    // Without the carve-out.
  std::optional<Bytes> pages_limit, gttsize;   // As options ask for them.
  const logs::Observation* seen = nullptr;     // Where the limit shows; may be nullptr.
  const logs::Observation* failure = nullptr;  // An allocation that failed; may be nullptr.
  std::optional<Bytes> asked;                  // By it.
  bool counts_carve_out = false;  // The program plans with the carve-out, and GTT is larger.

  bool limit_is(std::optional<Bytes> other) const;  // Nearly the same amount.
  bool limit_is_half_of_ram() const;
  // The carve-out is larger than what the job gets.
  bool carve_out_is_idle() const;
};

// Nothing where the job's GPU is none of an APU.
std::optional<ApuPool> apu_pool(const LogSubject& subject);

// The evidence and the steps that the three rules about these limits share.
void show_pool(const LogSubject& subject, const ApuPool& pool, Hypothesis& hypothesis);
// To as much as the RAM allows; a rule of thumb where the RAM is not known.
std::vector<Step> steps_to_raise_pool(const LogSubject& subject, const ApuPool& pool);

// "Radeon 8060S", or "the integrated GPU".
std::string apu_name(const LogSubject& subject);

}  // namespace headroom::findings
