// SPDX-License-Identifier: Apache-2.0
// `headroom pages DIR DATE`: man pages and completions as files, for whoever installs headroom. It
// is not listed in --help.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/commands.h"

namespace headroom::cli {

// Writes the pages of all commands that `app` has when it is run.
void add_pages(CLI::App& app, Context& context);

}  // namespace headroom::cli
