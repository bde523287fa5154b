// SPDX-License-Identifier: Apache-2.0
// Checksums of what a model consists of, by trainer/data/checksum.h.
#pragma once

#include <deque>
#include <string>

#include "trainer/parameter.h"

namespace headroom::trainer {

// A tensor that is contiguous, on the CPU.
std::string checksum_of(const at::Tensor& tensor);

// Of every parameter's name and value, in order.
std::string checksum_of(const std::deque<Parameter>& parameters);

}  // namespace headroom::trainer
