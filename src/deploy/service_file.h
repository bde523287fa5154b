// SPDX-License-Identifier: Apache-2.0
// The services that a quadlet or a compose file describes, as far as they concern a GPU: image,
// devices, limits and the health check. Nothing is edited here; edit.h does that.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deploy/edit.h"

namespace headroom::deploy {

struct DescribedService {
  std::string name;  // "immich-ml", "ml".
  FileKind kind = FileKind::quadlet;
  Settings settings;
  // The command or the words of it; empty where the file names none, or switches it off.
  std::optional<std::string> health;
  // Keys in [Container] that belong in [Service]: Podman's generator refuses the whole file then
  // (podman: pkg/systemd/quadlet/quadlet.go, checkForUnknownKeys).
  std::vector<std::string> misplaced;
};

// `file` is the path, or "-". Empty where the text is neither a quadlet nor a compose file. Fails
// with invalid or unsupported where it is one and cannot be read, with the line.
Result<std::vector<DescribedService>> read_service_file(const std::string& file,
                                                        std::string_view text);

}  // namespace headroom::deploy
