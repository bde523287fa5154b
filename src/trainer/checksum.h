// SPDX-License-Identifier: Apache-2.0
// Checksums of what a model consists of, by trainer/data/checksum.h.
#pragma once

#include <deque>
#include <string>

#include "trainer/parameter.h"

namespace headroom::trainer {

// A tensor that is contiguous, on the CPU.
std::string checksum_of(const at::Tensor& tensor);

// A line for each parameter, with its name and the checksum of its value, in order; copies of what
// another process has are left out. Of a quantised matrix it is what the matrix is kept as.
std::string list_checksums(const std::deque<Parameter>& parameters);

}  // namespace headroom::trainer
