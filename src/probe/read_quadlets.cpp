// SPDX-License-Identifier: Apache-2.0
#include "probe/read_quadlets.h"

namespace headroom::probe {
namespace {

std::vector<std::string> list(const machine::Files& files, const std::string& folder) {
  auto names = files.list(folder);
  return names ? *std::move(names) : std::vector<std::string>{};
}

}  // namespace

std::vector<std::string> home_folders(const machine::Files& files) {
  std::vector<std::string> homes = {"/root"};
  for (const std::string parent : {"/home", "/var/home"}) {
    if (files.read_link(parent)) continue;  // Image-based systems link /home to /var/home.
    for (const std::string& name : list(files, parent)) homes.push_back(parent + "/" + name);
  }
  return homes;
}

std::vector<std::string> quadlet_folders(const machine::Files& files) {
  const std::string of_users = "/etc/containers/systemd/users";
  std::vector<std::string> folders = {"/etc/containers/systemd", of_users};
  for (const std::string& name : list(files, of_users)) {
    if (!name.ends_with(".container")) folders.push_back(of_users + "/" + name);
  }
  for (const std::string& home : home_folders(files)) {
    folders.push_back(home + "/.config/containers/systemd");
  }
  return folders;
}

std::vector<facts::ConfigFile> read_quadlets(const machine::Files& files) {
  constexpr std::size_t largest = std::size_t{256} << 10U;
  std::vector<facts::ConfigFile> found;
  for (const std::string& folder : quadlet_folders(files)) {
    for (const std::string& name : list(files, folder)) {
      if (!name.ends_with(".container")) continue;
      auto text = files.read(folder + "/" + name, largest);
      if (text) found.push_back({folder + "/" + name, *std::move(text)});
    }
  }
  return found;
}

}  // namespace headroom::probe
