// SPDX-License-Identifier: Apache-2.0
#include "deploy/compose_project.h"

#include <fmt/format.h>

#include "base/text.h"
#include "yaml/tree.h"

namespace headroom::deploy {
namespace {

constexpr std::string_view variable = "COMPOSE_PROJECT_NAME";

// As compose makes a name of a folder's: small letters, digits, '_' and '-', one of the first two
// in front.
std::string name_of_folder(const std::string& folder) {
  std::string name;
  for (const char c : to_lower(folder.substr(folder.rfind('/') + 1))) {
    const bool is_word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    const bool is_joint = (c == '_' || c == '-') && !name.empty();
    if (is_word || is_joint) name += c;
  }
  return name;
}

std::optional<std::string> named_in(std::string_view environment_file) {
  std::optional<std::string> found;
  for (std::string_view line : split_lines(environment_file)) {
    line = trim(line);
    if (!line.starts_with(variable)) continue;
    line = trim(line.substr(variable.size()));
    if (!line.starts_with('=')) continue;
    line = trim(line.substr(1));
    const bool is_quoted = line.size() >= 2 && (line.front() == '"' || line.front() == '\'') &&
                           line.back() == line.front();
    found = std::string(is_quoted ? line.substr(1, line.size() - 2) : line);
  }
  return found;
}

}  // namespace

Result<ComposeProject> read_compose_project(const ComposePlace& place, const std::string& file,
                                            std::string_view text) {
  auto root = parse_yaml(text);
  if (!root) {
    Error error = std::move(root).error();
    error.message = file + ": " + error.message;
    return error;
  }
  const YamlNode* services = root->find("services");
  const YamlNode* service = services == nullptr ? nullptr : services->find(place.service);
  if (service == nullptr) {
    return Error{Errc::not_found,
                 fmt::format("{}: expected a service \"{}\", found none", file, place.service),
                 "name one of its services in SERVICE.toml: [service] service = \"…\""};
  }
  ComposeProject project;
  if (const YamlNode* profiles = service->find("profiles")) {
    for (const YamlNode& one : profiles->items) project.profiles.push_back(one.value);
  }
  const YamlNode* name = root->find("name");
  if (place.name && !place.name->empty()) {
    project.name = *place.name;
  } else if (auto named = place.environment_file ? named_in(*place.environment_file) : std::nullopt;
             named && !named->empty()) {
    project.name = *std::move(named);
  } else {
    project.name = name == nullptr ? name_of_folder(place.folder) : name->value;
  }
  if (!project.name.empty() && project.name.find('$') == std::string::npos) return project;
  return Error{Errc::invalid, fmt::format("{}: expected a name of the project, found none", file),
               fmt::format("export {}=…   (the name that `docker compose ls` shows)", variable)};
}

Result<std::vector<std::string>> read_compose_services(std::string_view text) {
  HEADROOM_TRY(const YamlNode root, parse_yaml(text));
  std::vector<std::string> names;
  if (const YamlNode* services = root.find("services")) {
    for (const auto& [key, value] : services->entries) names.push_back(key.value);
  }
  return names;
}

}  // namespace headroom::deploy
