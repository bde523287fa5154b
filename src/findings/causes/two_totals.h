// SPDX-License-Identifier: Apache-2.0
// Two starts of ollama that count different amounts of memory on one GPU.
#pragma once

#include "base/bytes.h"
#include "findings/causes/cause_rule.h"

namespace headroom::findings {

struct TwoTotals {
  const logs::Observation* before = nullptr;  // nullptr, as is `after`: there are none.
  const logs::Observation* after = nullptr;
  Bytes more, less;
};

// The first pair of which the later one has at most three quarters of the earlier one. Nothing if a
// setting of the kernel changed between them.
TwoTotals find_two_totals(const LogSubject& subject);

// Whether an amount is one that a BIOS sets aside for an integrated GPU by itself: 256 MiB to 2
// GiB.
bool is_carve_out(Bytes amount);

}  // namespace headroom::findings
