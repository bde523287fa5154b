// SPDX-License-Identifier: Apache-2.0
#include "machine/user.h"

#include <pwd.h>
#include <unistd.h>

#include <array>

#include "base/text.h"

namespace headroom::machine {
namespace {

struct User {
  std::string name;
  std::string home;
  std::uint64_t id = 0;
};

// `look_up` is getpwnam_r or getpwuid_r with its first argument in place.
template <class LookUp>
std::optional<User> find_user(LookUp look_up) {
  std::array<char, 65536> texts;  // Every field of one line of the user database.
  passwd entry{};
  passwd* found = nullptr;
  if (look_up(&entry, texts.data(), texts.size(), &found) != 0 || found == nullptr) {
    return std::nullopt;
  }
  return User{entry.pw_name, entry.pw_dir, entry.pw_uid};
}

std::optional<User> by_name(const std::string& name) {
  return find_user([&](passwd* entry, char* texts, std::size_t size, passwd** found) {
    return ::getpwnam_r(name.c_str(), entry, texts, size, found);
  });
}

std::optional<User> by_uid(uid_t uid) {
  return find_user([&](passwd* entry, char* texts, std::size_t size, passwd** found) {
    return ::getpwuid_r(uid, entry, texts, size, found);
  });
}

}  // namespace

bool runs_as_root() {
  return ::geteuid() == 0;
}

std::uint64_t user_id() {
  return ::geteuid();
}

std::string asking_user(std::string_view elevated_from, std::string_view elevated_uid) {
  if (runs_as_root()) {
    if (const auto user = by_name(std::string(elevated_from))) return user->name;
    const auto uid = parse_u64(elevated_uid);
    if (uid && *uid < static_cast<uid_t>(-1)) {
      if (const auto user = by_uid(static_cast<uid_t>(*uid))) return user->name;
    }
  }
  const auto user = by_uid(::getuid());
  return user ? user->name : "";
}

std::optional<std::uint64_t> id_of(const std::string& user) {
  const auto found = by_name(user);
  if (!found) return std::nullopt;
  return found->id;
}

std::optional<std::string> home_of(const std::string& user) {
  const auto found = by_name(user);
  if (!found) return std::nullopt;
  return found->home;
}

}  // namespace headroom::machine
