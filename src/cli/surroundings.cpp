// SPDX-License-Identifier: Apache-2.0
#include "cli/surroundings.h"

#include "change/journal.h"
#include "machine/user.h"

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

std::string deployments_folder(const Context& context) {
  const std::string said = probe::find_variable(context.environment, "XDG_STATE_HOME");
  if (machine::runs_as_root() && !said.starts_with('/')) return std::string(change::system_journal);
  return state_folder(context);
}

}  // namespace headroom::cli
