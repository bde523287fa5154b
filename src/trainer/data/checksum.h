// SPDX-License-Identifier: Apache-2.0
// Checksums of what training reads, however large: SHA-256 of pieces that are summed at the same
// time, and of their sums.
#pragma once

#include <string>
#include <string_view>

#include "trainer/data/samples.h"

namespace headroom::trainer::data {

// 64 hexadecimal digits: SHA-256 of the digits of each 4 MiB's SHA-256, one after the other.
std::string checksum_of(std::string_view bytes);

// Of every sample's length and tokens, in order.
std::string checksum_of(const Samples& samples);

}  // namespace headroom::trainer::data
