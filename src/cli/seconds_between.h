// SPDX-License-Identifier: Apache-2.0
// A check of the option library's for an amount of seconds, fractions included.
#pragma once

#include <fmt/format.h>

#include <string>

#include <CLI/CLI.hpp>

#include "base/text.h"

namespace headroom::cli {

// Both ends are allowed; what is no number, nan included, is not.
inline CLI::Validator seconds_between(double least, double most) {
  return CLI::Validator(
      [least, most](const std::string& typed) -> std::string {
        const auto number = parse_double(typed);
        if (number && *number >= least && *number <= most) return "";
        return fmt::format("expected {} to {} seconds, found {}", least, most, typed);
      },
      "");
}

}  // namespace headroom::cli
