// SPDX-License-Identifier: Apache-2.0
// What people tell of settings and steps they tried: "it trains with P2P disabled", "unset it and
// the crash is gone", "works once the iGPU is off". What made it work accuses what it removes, and
// what did not help clears it. Nothing of this is proof.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

struct ToldRemedy {
  std::string_view cause;  // What the step is against.
  std::string step;        // As it was told: "NCCL_P2P_DISABLE=1".
  bool helped = false;
  bool both_told = false;  // That it works with the step, and that it fails without.
  const logs::Observation* told = nullptr;
};

// Reads what lines of the signature "remedy-told" say, in their order.
std::vector<ToldRemedy> told_remedies(const LogSubject& subject);

// Weighs a rule's hypothesis by what is told of steps against its cause, or makes one of it.
void weigh_remedies(const LogSubject& subject, const std::vector<ToldRemedy>& told,
                    const CauseRule& rule, std::optional<Hypothesis>& hypothesis);

}  // namespace headroom::findings
