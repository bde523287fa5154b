// SPDX-License-Identifier: Apache-2.0
// What logind does with the processes that a user leaves behind at logout (logind.conf(5),
// org.freedesktop.login1(5)).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace headroom::machine {

// Each nothing where nobody says, which is so where no logind runs.
struct LogoutRule {
  std::optional<bool> lingers;         // The user's manager goes on without a session.
  std::optional<bool> ends_processes;  // KillUserProcesses= is in force on this user.
};

// `name` is the user's name in the user database.
LogoutRule read_logout_rule(std::uint64_t user_id, const std::string& name);

}  // namespace headroom::machine
