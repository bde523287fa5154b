// SPDX-License-Identifier: Apache-2.0
// A list of NAME=VALUE, as a command is given it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::run {

// Returns the first value of that name; nothing where it is not set.
std::optional<std::string> value_of(const std::vector<std::string>& variables,
                                    std::string_view name);

// Replaces the value, or adds the variable at the end.
void set(std::vector<std::string>& variables, const std::string& name, const std::string& value);

void take_out(std::vector<std::string>& variables, std::string_view name);

}  // namespace headroom::run
