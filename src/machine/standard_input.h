// SPDX-License-Identifier: Apache-2.0
// What is piped into a command in place of a file.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace headroom::machine {

// All of it, however long it takes to come. Fails where it cannot be read, as where it is closed:
// nothing said is not the same as nothing to say. Invalid if it is longer than `limit`.
Result<std::string> read_standard_input(std::size_t limit = std::size_t{64} << 20U);

}  // namespace headroom::machine
