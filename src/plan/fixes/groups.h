// SPDX-License-Identifier: Apache-2.0
// Groups and users of this machine as its files have them (group(5), passwd(5)), and the steps that
// make a user a member of a group. A session that has begun keeps the groups that it got then.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/fix.h"

namespace headroom::plan {

struct Group {
  std::string line;  // As it stands in its file.
  std::vector<std::string> members;
  bool of_image = false;  // In /usr/lib/group alone, as on image-based systems (nss-altfiles).
};

std::optional<Group> find_group(const FixSubject& subject, std::string_view name);
std::optional<std::string> group_of_id(const FixSubject& subject, std::uint64_t gid);
// As a member that is listed, or because it is the user's own group in the user table.
bool is_member(const FixSubject& subject, std::string_view group, std::string_view user);

// The user's number; nothing where no table that was read has the name.
std::optional<std::uint64_t> number_of_user(const FixSubject& subject, std::string_view user);

// Requires: options.user is known.
std::vector<Step> steps_to_join(const FixSubject& subject, const std::vector<std::string>& groups);

}  // namespace headroom::plan
