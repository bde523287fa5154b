// SPDX-License-Identifier: Apache-2.0
// Whether the files that a command is asked to write may be written, before it does anything.
#pragma once

#include <optional>
#include <vector>

#include "cli/commands.h"
#include "machine/output_files.h"

namespace headroom::cli {

// Nothing where they may. Else says why not and returns the exit code: exit_usage for a file that
// is read as well, exit_could_not_look for a place where nothing can be written.
std::optional<int> refuse_outputs(const std::vector<machine::OutputFile>& outputs,
                                  const machine::InputFiles& inputs, const Context& context);

}  // namespace headroom::cli
