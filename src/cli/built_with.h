// SPDX-License-Identifier: Apache-2.0
// What this program was built from and with, for bug reports.
#pragma once

#include <string>

namespace headroom::cli {

// "headroom 1.2.3" and below it the processor, the compiler and the libraries; without a newline at
// the end.
std::string describe_build();

}  // namespace headroom::cli
