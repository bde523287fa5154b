// SPDX-License-Identifier: Apache-2.0
// Words as a shell takes them: what an answer tells people to type.
#pragma once

#include <string>
#include <vector>

namespace headroom::report {

// Each word in quotes where it needs them, made printable.
std::string to_shell(const std::vector<std::string>& words);

}  // namespace headroom::report
