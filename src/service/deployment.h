// SPDX-License-Identifier: Apache-2.0
// A deployment from beginning to end: what an earlier one left is finished first, then this machine
// (or the one of --root) is judged, and with `apply` the service is changed, proved, and kept or
// put back.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "deploy/deployer.h"
#include "deploy/spec.h"
#include "plan/change.h"
#include "probe/read_shell.h"

namespace headroom::service {

struct DeployOrder {
  std::string file;                      // SERVICE.toml, absolute.
  std::string text;                      // What it says,
  deploy::ServiceSpec spec;              // and means.
  std::string root = "/";                // The machine that is judged.
  std::string state;                     // The state folder.
  std::string program;                   // headroom itself, absolute.
  std::vector<std::string> environment;  // NAME=VALUE, for the service's commands.
  probe::Surroundings surroundings;
  std::vector<std::string> words;  // The command line as typed, without --apply and --finish.
  bool apply = false;
  bool force = false;
  bool only_finish = false;  // What an earlier one left, and nothing else.
  // Before anything is done this process leaves its login session (machine/tree/own_scope.h), which
  // a test that deploys must not.
  bool leaves_session = false;
  std::function<void(const std::string& text, const std::string& next)> say;
  // Called before each action of the deployer and each operation on a file. For tests that kill
  // this process at every step.
  std::function<void(std::string_view step)> before_each;
};

struct DeployDone {
  deploy::DeployReport report;
  plan::Change change;
  // SERVICE.toml, or a file that it names, is wrong; nothing else in here counts then.
  std::optional<Error> mistake;
};

// Fails where something could not be looked at, with no_permission where this user may not change
// its files, with busy while another deployment of the service runs, and with not_this_system where
// `apply` is asked for another machine that would pass the gate. Nothing was touched then.
Result<DeployDone> deploy_service(const DeployOrder& order);

}  // namespace headroom::service
