// SPDX-License-Identifier: Apache-2.0
// Checksums of what training depends on, however large: SHA-256 of pieces that are summed at the
// same time, and of their sums.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "trainer/data/samples.h"
#include "trainer/parameter.h"

namespace headroom::trainer {

// 64 hexadecimal digits: SHA-256 of the digits of each 4 MiB's SHA-256, one after the other.
std::string checksum_of(std::string_view bytes);
// A tensor that is contiguous, on the CPU.
std::string checksum_of(const at::Tensor& tensor);

// Of every sample's length and tokens, in order.
std::string checksum_of(const data::Samples& samples);
// Of every parameter's name and value, in order.
std::string checksum_of(const std::deque<Parameter>& parameters);

}  // namespace headroom::trainer
