// SPDX-License-Identifier: Apache-2.0
#include "cli/surroundings.h"

namespace headroom::cli {

probe::Surroundings make_surroundings(const Context& context, const std::string& python,
                                      bool real_root) {
  if (python.empty() || python.starts_with('/')) return {context.environment, python};
  std::string folder;
  if (real_root) folder = probe::find_variable(context.environment, "PWD");
  return {context.environment, folder + "/" + python};
}

}  // namespace headroom::cli
