// SPDX-License-Identifier: Apache-2.0
// What a program answers that was asked for help, or was called in a way that it does not know:
// what was expected, what was found, and the command line as it was probably meant.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace headroom::command_line {

// The page for standard output where `problem` is that help or the version was asked for.
std::optional<std::string> find_answer(const CLI::App& app, const CLI::ParseError& problem,
                                       std::size_t width);

// What is wrong with `words`, the command line as typed from the program's name on. Requires: `app`
// threw `problem` from its parse, and find_answer() returned nothing.
Error make_usage_error(const CLI::App& app, const CLI::ParseError& problem,
                       const std::vector<std::string>& words);

}  // namespace headroom::command_line
