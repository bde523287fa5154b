// SPDX-License-Identifier: Apache-2.0
// Amounts of memory as programs print them, out of an observation's values. Several wordings of one
// line give one value several names (free, free_1, free_2) and units of their own (total_mib).
#pragma once

#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "logs/observation.h"

namespace headroom::findings {

// "1.05 GiB", "0 bytes", "2,147,483,648"; a bare number in the unit that the value's name ends in
// (_kib, _mib, _gib), else in bytes. Nothing where no value of this name makes sense.
std::optional<Bytes> amount_of(const logs::Observation& seen, std::string_view name);
// The same for a plain number: "0.90".
std::optional<double> number_of(const logs::Observation& seen, std::string_view name);

// 0.5 for 8 of 16 GiB; 0 where the whole is 0.
double part_of(Bytes part, Bytes whole);

}  // namespace headroom::findings
