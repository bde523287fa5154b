// SPDX-License-Identifier: Apache-2.0
// Values as TOML writes them on one line (toml.io, v1.0.0).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::tune {

std::string toml_string(std::string_view text);
std::string toml_list(const std::vector<std::string>& values);
std::string toml_table(const std::map<std::string, std::string>& values);

}  // namespace headroom::tune
