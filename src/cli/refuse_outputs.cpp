// SPDX-License-Identifier: Apache-2.0
#include "cli/refuse_outputs.h"

namespace headroom::cli {

std::optional<int> refuse_outputs(const std::vector<machine::OutputFile>& outputs,
                                  const machine::InputFiles& inputs, const Context& context) {
  if (const auto good = machine::check_names(outputs, inputs); !good)
    return print_error(context, good.error(), exit_usage);
  if (const auto good = machine::check_places(outputs); !good)
    return print_error(context, good.error(), exit_could_not_look);
  return std::nullopt;
}

}  // namespace headroom::cli
