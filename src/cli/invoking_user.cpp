// SPDX-License-Identifier: Apache-2.0
#include "cli/invoking_user.h"

#include "base/text.h"
#include "machine/user.h"
#include "probe/read_shell.h"

namespace headroom::cli {
namespace {

constexpr std::uint64_t first_ordinary_uid = 1000;
constexpr std::uint64_t nobody_uid = 65534;

// passwd(5): NAME:PASSWORD:UID:GID:GECOS:HOME:SHELL. Of an empty name the first ordinary user.
InvokingUser find_in_passwd(const machine::Files& files, const std::string& user) {
  const auto text = files.read("/etc/passwd");
  if (!text) return {user, "", false, false};
  for (const std::string_view line : split_lines(*text)) {
    const auto fields = split(line, ':');
    if (fields.size() < 6) continue;
    const auto uid = parse_u64(fields[2]);
    const bool ordinary = uid && *uid >= first_ordinary_uid && *uid != nobody_uid;
    if (user.empty() ? ordinary : fields[0] == user) {
      return {std::string(fields[0]), std::string(fields[5]), false, false};
    }
  }
  return {user, "", false, !user.empty()};
}

}  // namespace

InvokingUser find_invoking_user(const machine::Files& files, const std::string& user,
                                const Context& context) {
  if (!files.is_real()) return find_in_passwd(files, user);
  const auto variable = [&context](std::string_view name) {
    return probe::find_variable(context.environment, name);
  };
  std::string from = variable("SUDO_USER");
  if (from.empty()) from = variable("DOAS_USER");
  InvokingUser found;
  found.user = user.empty() ? machine::asking_user(from, variable("PKEXEC_UID")) : user;
  const auto id = machine::id_of(found.user);
  found.is_caller = user.empty() ? !id || *id == machine::user_id() : id == machine::user_id();
  found.is_unknown = !user.empty() && !id;
  found.home = machine::home_of(found.user).value_or("");
  if (found.home.empty() && user.empty()) found.home = variable("HOME");
  return found;
}

}  // namespace headroom::cli
