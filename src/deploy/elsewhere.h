// SPDX-License-Identifier: Apache-2.0
// What a service takes from other files: a base that it extends, files of variables (the Compose
// Specification; podman-systemd.unit(5)). Its own file's YAML aliases are filled in before.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "yaml/tree.h"

namespace headroom::deploy {

struct Elsewhere {
  std::string key;           // "extends", "env_file", "EnvironmentFile", "include".
  std::string file = {};     // As written; of extends empty: the same file.
  std::string service = {};  // Of extends, the one that it builds on.
  std::string why = {};      // It cannot be read: "No such file or directory". May be empty.
  bool refused = false;      // Because of it compose refuses the file, or podman the service.
  bool optional = false;     // A file of variables that need not be there.

  bool is_base() const { return key == "extends"; }
  bool holds_variables() const { return key == "env_file" || key == "EnvironmentFile"; }
  // Headroom knows which file it is, and has found nothing against reading it.
  bool can_be_read() const { return !file.empty() && why.empty(); }
  bool operator==(const Elsewhere&) const = default;
};

// More than a person writes; a hostile file names no end of them.
inline constexpr std::size_t most_elsewhere = 32;

// Of a service of a compose file.
std::vector<Elsewhere> find_elsewhere(const YamlNode& service);
// Other compose files that the whole file takes in.
std::vector<Elsewhere> find_included(const YamlNode& root);

// "hwaccel.yml (extends)", with the reason why it could not be read.
std::string describe(const Elsewhere& place);
// Adds what is not there yet, up to the most.
void add_elsewhere(const std::vector<Elsewhere>& more, std::vector<Elsewhere>& places);

}  // namespace headroom::deploy
