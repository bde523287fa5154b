// SPDX-License-Identifier: Apache-2.0
// The services that a quadlet or a compose file describes, as far as they concern a GPU: image,
// devices, limits and the health check. Nothing is edited here; edit.h does that.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deploy/edit.h"
#include "deploy/elsewhere.h"
#include "facts/environment.h"

namespace headroom::deploy {

struct DescribedService {
  std::string name;  // "immich-ml", "ml".
  FileKind kind = FileKind::quadlet;
  Settings settings;
  std::size_t image_line = 0;  // From 1; 0: the file names no image.
  std::string written_image;   // With variables that were filled in since; empty: there are none.
  // The command or the words of it; empty where the file names none, or switches it off.
  std::optional<std::string> health;
  // Keys in [Container] that belong in [Service]: Podman's generator refuses the whole file then
  // (podman: pkg/systemd/quadlet/quadlet.go, checkForUnknownKeys).
  std::vector<std::string> misplaced;
  std::vector<Elsewhere> elsewhere;  // What has not been read.
  std::optional<Elsewhere> base;     // What gives it its devices, if it names none itself.
  // Variables that it has from there, with their places; they are in `settings` too.
  std::vector<facts::Setting> inherited;
  bool devices_are_whole = false;  // "!reset" or "!override": those of a base do not count.
};

// `file` is the path, or "-". Empty where the text is neither a quadlet nor a compose file. Fails
// with invalid or unsupported where it is one and cannot be read, with the line.
Result<std::vector<DescribedService>> read_service_file(const std::string& file,
                                                        std::string_view text);

// Builds the service on the one that its entry of `elsewhere` names, and removes the entry: what it
// has itself wins, devices and groups are added up.
void build_on(DescribedService& service, std::size_t entry, const DescribedService& base);

// Gives the service the variables of the file that its entry of `elsewhere` names, and removes the
// entry. What the service has already wins: call it for the last file first (Compose Specification,
// "env_file"; systemd.exec(5), EnvironmentFile=).
void take_variables(DescribedService& service, std::size_t entry,
                    const std::vector<facts::Setting>& variables);

}  // namespace headroom::deploy
