// SPDX-License-Identifier: Apache-2.0
// Who runs this program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headroom::machine {

// The superuser: nobody can see more by becoming one.
bool runs_as_root();

// The number of the user whose rights it has.
std::uint64_t user_id();

// The name of the person who asked, before sudo, doas or pkexec made them root: whose groups and
// home folder are meant. `elevated_from` is what SUDO_USER (or DOAS_USER) says, `elevated_uid` what
// PKEXEC_UID says, each empty where it is not set; they are believed only of root, and only where
// there is such a user. Otherwise the name of the real user; empty if this system knows none.
std::string asking_user(std::string_view elevated_from, std::string_view elevated_uid);

// The number that the user database gives; nothing if it knows no such user.
std::optional<std::uint64_t> id_of(const std::string& user);

// The home folder that the user database gives; nothing if it knows no such user.
std::optional<std::string> home_of(const std::string& user);

}  // namespace headroom::machine
