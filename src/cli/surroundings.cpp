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

// XDG Base Directory Specification: state that outlives a restart.
std::string state_folder(const Context& context) {
  const std::string state = probe::find_variable(context.environment, "XDG_STATE_HOME");
  if (state.starts_with('/')) return state + "/headroom";
  const std::string home = probe::find_variable(context.environment, "HOME");
  return home.starts_with('/') ? home + "/.local/state/headroom" : "";
}

}  // namespace headroom::cli
