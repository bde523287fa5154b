// SPDX-License-Identifier: Apache-2.0
// To which project of compose a service belongs: its containers carry the name as a label (the
// Compose Specification, "Version and name top-level elements").
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headroom::deploy {

struct ComposeProject {
  std::string name;
  std::vector<std::string> profiles;  // Of the service: it is only started with one of them.
};

// What the name may come from besides the file.
struct ComposePlace {
  std::string folder;                                // That the file is in; absolute.
  std::string service;                               // Its name in the file.
  std::optional<std::string> name;                   // COMPOSE_PROJECT_NAME of the environment …
  std::optional<std::string_view> environment_file;  // … or of the text of the .env beside it.
};

// In compose's order: COMPOSE_PROJECT_NAME, `name`, the folder. `file` is for messages. Fails with
// invalid where the text cannot be read or the name stands behind variables, with not_found where
// it has no such service.
Result<ComposeProject> read_compose_project(const ComposePlace& place, const std::string& file,
                                            std::string_view text);

// The names of the services of a compose file, in their order; none where it has no `services`.
// Fails with invalid where the text is not YAML.
Result<std::vector<std::string>> read_compose_services(std::string_view text);

}  // namespace headroom::deploy
