// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/group_places.h"

#include <fmt/format.h>

#include <vector>

#include "base/text.h"
#include "machine/files.h"

namespace headroom::machine {
namespace {

struct Mount {
  std::string root;   // Which part of the hierarchy it shows.
  std::string point;  // Where.
  std::string type;
  std::vector<std::string> options;  // Of version 1, the controllers among them.
};

// "\040" is how the kernel writes what would end a field.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t at) {
      return at < text.size() && text[at] >= '0' && text[at] <= '7' ? text[at] - '0' : -1;
    };
    if (text[i] != '\\' || digit(i + 1) < 0 || digit(i + 2) < 0 || digit(i + 3) < 0) {
      plain.push_back(text[i]);
      continue;
    }
    plain.push_back(static_cast<char>(digit(i + 1) * 64 + digit(i + 2) * 8 + digit(i + 3)));
    i += 3;
  }
  return plain;
}

// "36 35 0:30 /root /mount options … - type source options".
std::optional<Mount> parse_mount(std::string_view line) {
  const auto fields = split_words(line);
  constexpr std::size_t before_optional = 6;
  std::size_t dash = before_optional;
  while (dash < fields.size() && fields[dash] != "-") ++dash;
  if (dash + 3 >= fields.size()) return std::nullopt;
  Mount mount{unescape(fields[3]), unescape(fields[4]), std::string(fields[dash + 1]), {}};
  for (const std::string_view option : split(fields[dash + 3], ','))
    mount.options.emplace_back(option);
  return mount;
}

// The folder of the group `path` below a mount that shows it.
std::optional<std::string> folder_of(const Mount& mount, const std::string& path) {
  const std::string root = mount.root == "/" ? "" : mount.root;
  if (path.starts_with("/..")) return std::nullopt;  // Outside of our cgroup namespace.
  if (path != root && !path.starts_with(root + "/")) return std::nullopt;
  const std::string rest = path.substr(root.size());
  return mount.point + (rest == "/" ? "" : rest);
}

}  // namespace

GroupPlaces find_group_places(std::string_view mounts, std::string_view own_groups) {
  std::optional<std::string> unified;
  std::map<std::string, std::string> paths;
  for (const std::string_view line : split_lines(own_groups)) {  // "4:memory:/path", "0::/path".
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string path(line.substr(second + 1));
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (controllers.empty()) unified = path;
    for (const std::string_view name : split(controllers, ',')) paths[std::string(name)] = path;
  }
  GroupPlaces places;
  for (const std::string_view line : split_lines(mounts)) {
    const auto mount = parse_mount(line);
    if (!mount) continue;
    if (mount->type == "cgroup2" && unified && !places.unified)
      places.unified = folder_of(*mount, *unified);
    if (mount->type != "cgroup") continue;
    for (const std::string& option : mount->options) {
      const auto path = paths.find(option);
      if (path == paths.end() || places.by_controller.contains(option)) continue;
      if (const auto folder = folder_of(*mount, path->second))
        places.by_controller[option] = *folder;
    }
  }
  return places;
}

GroupPlaces read_group_places(std::optional<pid_t> process) {
  const auto files = Files::open("/");
  if (!files) return {};
  const auto mounts = files->read("/proc/self/mountinfo");
  const auto groups =
      files->read(process ? fmt::format("/proc/{}/cgroup", *process) : "/proc/self/cgroup");
  if (!mounts || !groups) return {};
  return find_group_places(*mounts, *groups);
}

}  // namespace headroom::machine
