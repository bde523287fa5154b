// SPDX-License-Identifier: Apache-2.0
// Reads amounts of memory, as programs print them, from an observation's values. If a line has
// several wordings, one value may have several names (free, free_1, free_2), or a unit in its name
// (total_mib).
#pragma once

#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "logs/observation.h"

namespace headroom::findings {

// Reads "1.05 GiB", "0 bytes" or "2,147,483,648". A bare number has the unit with which the value's
// name ends (_kib, _mib, _gib), else bytes. Nothing if no value of this name makes sense.
std::optional<Bytes> amount_of(const logs::Observation& seen, std::string_view name);
// Reads a plain number: "0.90".
std::optional<double> number_of(const logs::Observation& seen, std::string_view name);

// Returns 0.5 for 8 of 16 GiB, and 0 if `whole` is 0.
double part_of(Bytes part, Bytes whole);

}  // namespace headroom::findings
