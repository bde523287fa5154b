// SPDX-License-Identifier: Apache-2.0
#include "capture/identity.h"

#include "base/text.h"
#include "redact/words.h"

namespace headroom::capture {
namespace {

using machine::Files;
using redact::Identity;

void add(std::vector<std::string>& names, std::string_view name) {
  name = trim(name);
  if (!name.empty()) names.emplace_back(name);
}

// People of /etc/passwd; `services` gets the names of all others.
void add_accounts(Identity& identity, std::string_view passwd, std::set<std::string>& services) {
  constexpr std::uint64_t first_person = 1000;
  constexpr std::uint64_t nobody = 65534;
  for (const std::string_view line : split_lines(passwd)) {
    const auto fields = split(line, ':');
    const auto uid = fields.size() > 5 ? parse_u64(fields[2]) : std::nullopt;
    if (!uid || *uid < first_person || *uid == nobody) {
      services.emplace(fields[0]);
      continue;
    }
    add(identity.user_names, fields[0]);
    // A full name is given in parts, and any of them may be found elsewhere.
    for (const std::string_view part : split_words(split(fields[4], ',')[0])) {
      add(identity.user_names, part);
    }
  }
}

// Members of groups may be accounts that only a directory server knows.
void add_members(Identity& identity, std::string_view group,
                 const std::set<std::string>& services) {
  for (const std::string_view line : split_lines(group)) {
    const auto fields = split(line, ':');
    if (fields.size() != 4) continue;
    for (const std::string_view member : split(fields[3], ',')) {
      if (!services.contains(std::string(member))) add(identity.user_names, member);
    }
  }
}

void add_environment(Identity& identity, std::string_view environment) {
  for (const std::string_view entry : split(environment, '\0')) {
    const std::size_t sign = entry.find('=');
    if (sign == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, sign);
    const std::string_view value = entry.substr(sign + 1);
    if (name == "USER" || name == "LOGNAME" || name == "SUDO_USER") add(identity.user_names, value);
    if (name == "HOSTNAME") add(identity.host_names, value);
  }
}

void add_home_names(Identity& identity, std::string_view text) {
  redact::replace_home_names(text, [&](const std::string& name) {
    add(identity.user_names, name);
    return name;
  });
}

// Words of the kernel's own names and of the distribution's.
void add_words(std::set<std::string>& vocabulary, std::string_view text) {
  std::string word;
  for (const char c : std::string(text) + " ") {
    const bool in_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (in_word) {
      word += c;
    } else if (!word.empty()) {
      vocabulary.insert(to_lower(word));
      vocabulary.insert(std::move(word));
      word.clear();
    }
  }
}

// sys/fs is left out: control groups and file systems are named by people.
bool is_named_by_kernel(std::string_view path) {
  return path.starts_with("sys/") && !path.starts_with("sys/fs/");
}

}  // namespace

Identity read_identity(const Files& files, const machine::Recording& recording) {
  Identity identity;
  for (const char* path : {"/proc/sys/kernel/hostname", "/etc/hostname"}) {
    if (const auto name = files.read(path)) add(identity.host_names, *name);
  }
  std::set<std::string> services;
  if (const auto passwd = files.read("/etc/passwd")) add_accounts(identity, *passwd, services);
  // A record has stand-ins for people and may lack the file that says who is a service.
  const auto group = files.read("/etc/group");
  if (group && !files.is_record()) add_members(identity, *group, services);
  if (const auto own = files.read("/proc/self/environ")) add_environment(identity, *own);
  const auto homes = files.list("/home");
  for (const std::string& name : homes ? *homes : std::vector<std::string>{}) {
    if (name != "lost+found") add(identity.user_names, name);
  }
  for (const auto& [path, bytes] : recording.files) {
    add_home_names(identity, "/" + path);
    add_home_names(identity, bytes);
    if (path.ends_with("/environ")) add_environment(identity, bytes);
    if (is_named_by_kernel(path)) add_words(identity.vocabulary, path);
    if (path.ends_with("os-release") || path == "proc/modules") {
      add_words(identity.vocabulary, bytes);
    }
  }
  for (const auto& [path, target] : recording.links) {
    add_home_names(identity, "/" + path);
    add_home_names(identity, target);
  }
  return identity;
}

}  // namespace headroom::capture
