// SPDX-License-Identifier: Apache-2.0
// A check of the option library's for a number, fractions included.
#pragma once

#include <fmt/format.h>

#include <string>

#include <CLI/CLI.hpp>

#include "base/text.h"

namespace headroom::cli {

// Both ends are allowed; what is no number, nan included, is not. `unit`: what is counted, for the
// message.
inline CLI::Validator number_between(double least, double most, const std::string& unit) {
  return CLI::Validator(
      [least, most, unit](const std::string& typed) -> std::string {
        const auto number = parse_double(typed);
        if (number && *number >= least && *number <= most) return "";
        return fmt::format("expected {:g} to {:g}{}{}, found {}", least, most,
                           unit.empty() ? "" : " ", unit, typed);
      },
      "");
}

}  // namespace headroom::cli
