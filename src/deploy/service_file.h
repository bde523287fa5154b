// SPDX-License-Identifier: Apache-2.0
// The services that a quadlet or a compose file describes, as far as they concern a GPU: image,
// devices, limits and the health check. Nothing is edited here; edit.h does that.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deploy/edit.h"
#include "deploy/elsewhere.h"

namespace headroom::deploy {

struct DescribedService {
  std::string name;  // "immich-ml", "ml".
  FileKind kind = FileKind::quadlet;
  Settings settings;
  std::size_t image_line = 0;  // From 1; 0: the file names no image.
  // The command or the words of it; empty where the file names none, or switches it off.
  std::optional<std::string> health;
  // Keys in [Container] that belong in [Service]: Podman's generator refuses the whole file then
  // (podman: pkg/systemd/quadlet/quadlet.go, checkForUnknownKeys).
  std::vector<std::string> misplaced;
  std::vector<Elsewhere> elsewhere;  // What has not been read.
  std::optional<Elsewhere> base;     // What gives it its devices, if it names none itself.
  // Variables that it has from there, by their names; they are in `settings` too.
  std::map<std::string, std::string> inherited;
  bool devices_are_whole = false;  // "!reset" or "!override": those of a base do not count.
};

// `file` is the path, or "-". Empty where the text is neither a quadlet nor a compose file. Fails
// with invalid or unsupported where it is one and cannot be read, with the line.
Result<std::vector<DescribedService>> read_service_file(const std::string& file,
                                                        std::string_view text);

// Builds the service on the one that its entry of `elsewhere` names, and removes the entry: what it
// has itself wins, devices and groups are added up.
void build_on(DescribedService& service, std::size_t entry, const DescribedService& base);

}  // namespace headroom::deploy
