// SPDX-License-Identifier: Apache-2.0
#include "run/command/variables.h"

#include <algorithm>

namespace headroom::run {
namespace {

bool is_named(const std::string& variable, std::string_view name) {
  return variable.size() > name.size() && variable.starts_with(name) &&
         variable[name.size()] == '=';
}

}  // namespace

std::optional<std::string> value_of(const std::vector<std::string>& variables,
                                    std::string_view name) {
  for (const std::string& one : variables) {
    if (is_named(one, name)) return one.substr(name.size() + 1);
  }
  return std::nullopt;
}

void take_out(std::vector<std::string>& variables, std::string_view name) {
  std::erase_if(variables, [name](const std::string& one) { return is_named(one, name); });
}

void set(std::vector<std::string>& variables, const std::string& name, const std::string& value) {
  const auto found = std::find_if(variables.begin(), variables.end(),
                                  [&name](const std::string& one) { return is_named(one, name); });
  if (found != variables.end()) {
    *found = name + "=" + value;
  } else {
    variables.push_back(name + "=" + value);
  }
}

}  // namespace headroom::run
