// SPDX-License-Identifier: Apache-2.0
// `headroom help TOPIC`, and what it explains besides the commands.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/commands.h"

namespace headroom::cli {

// Explains all commands that `app` has when it is run.
void add_help(CLI::App& app, Context& context);

// Topics, causes and findings, sorted.
std::vector<std::string> help_words();

}  // namespace headroom::cli
