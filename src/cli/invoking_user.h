// SPDX-License-Identifier: Apache-2.0
// Who asked for a change, and where they live: whose groups, shell files and home folder are meant.
#pragma once

#include <string>

#include "cli/commands.h"
#include "machine/files.h"

namespace headroom::cli {

struct InvokingUser {
  std::string user;  // Empty where nobody is known.
  std::string home;  // On that machine; empty where it is not known.
  // Whose rights this process has: what it may open, the user may open.
  bool is_caller = false;
  // The machine's table of users was read and has no such name.
  bool is_unknown = false;
};

// `user` as typed; empty: of this system who asked, before sudo; of any other root the first
// ordinary user (UID 1000 and up) of its /etc/passwd.
InvokingUser find_invoking_user(const machine::Files& files, const std::string& user,
                                const Context& context);

}  // namespace headroom::cli
