// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/own_scope.h"

#include <fmt/format.h>
#include <unistd.h>

#include "machine/tree/group_places.h"
#include "machine/tree/logout_rule.h"
#include "machine/tree/systemd_bus.h"
#include "machine/user.h"

namespace headroom::machine {
namespace {

constexpr const char* goes_on = "this goes on when its terminal goes";

// A desktop starts terminals as units of the user's manager.
bool is_in_users_manager() {
  const auto group = read_group_places().unified;
  return group && group->find("/user@") != std::string::npos;
}

// What is left of a closed session keeps the user's manager alive, and with it the user's services.
// A process in a scope of the manager does not.
bool is_better_off_in_session(const LogoutRule& rule) {
  return rule.lingers == false && rule.ends_processes == false && !is_in_users_manager();
}

}  // namespace

Stay leave_session(const std::string& name, const std::string& description) {
  if (!is_systemd_there()) return {"", goes_on, ""};
  LogoutRule rule;
  if (!runs_as_root()) rule = read_logout_rule(user_id(), asking_user("", ""));
  if (is_better_off_in_session(rule))
    return {"", fmt::format("{}: nothing ends what a session leaves behind here", goes_on), ""};
  const pid_t self = ::getpid();
  Status moved = start_scope({name, description, {self}, std::nullopt});
  if (moved) moved = wait_for_scope(self, name);
  if (!moved) {
    return {"",
            fmt::format("{}, but ends at logout where systemd is told to end what a session leaves "
                        "behind (KillUserProcesses=yes): {}",
                        goes_on, moved.error().message),
            ""};
  }
  if (rule.lingers == false) {
    return {name,
            fmt::format("{}, in {}, until the last session of this user ends: then the user's "
                        "service manager ends with all that it holds",
                        goes_on, name),
            "loginctl enable-linger"};
  }
  return {name, fmt::format("{}, in {}", goes_on, name), ""};
}

}  // namespace headroom::machine
