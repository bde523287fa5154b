// SPDX-License-Identifier: Apache-2.0
// Single settings put into the text of a systemd unit, a Podman quadlet or a compose file, with
// every other byte, comment and line where it was. The result is read again, and an edit that would
// change anything but what was asked for is refused.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "deploy/spec.h"

namespace headroom::deploy {

enum class FileKind : std::uint8_t {
  unit,     // systemd.syntax(7): *.service, and drop-ins *.conf.
  quadlet,  // podman-systemd.unit(5): *.container.
  compose,  // YAML by the Compose Specification.
};

// By the file's name, else by the kind of service. Fails with unsupported where neither tells.
Result<FileKind> kind_of_file(std::string_view file, ServiceKind service);

// What a file says of a service, as far as the keys of TypedSet go.
struct Settings {
  std::optional<std::string> image;
  std::map<std::string, std::string> environment;  // Without files that the service reads besides.
  std::vector<std::string> devices;
  std::vector<std::string> groups;
  std::optional<Bytes> memory;       // Nothing: no limit is named here.
  std::vector<std::string> command;  // Empty: the image's own.

  bool operator==(const Settings&) const = default;
};

// Whether the service is given this device, the folder that it is in, or something in this folder
// of devices, of the host.
bool is_given(const Settings& settings, std::string_view device);

// Whether the image's name says that it is a build for ROCm.
bool is_for_rocm(const Settings& settings);

// Where a setting goes. Newer quadlet keys are only used where the Podman that reads them has them.
struct EditTarget {
  FileKind kind = FileKind::unit;
  std::string file;     // For messages.
  std::string service;  // In a compose file; else unused.
  // "4.9", "5.6.2" of the machine's Podman; empty where unknown: only what every version reads.
  std::string podman_version = {};
};

// Fails with invalid where the text cannot be read, with not_found where a compose file has no such
// service, with unsupported where others share a setting by an anchor, an alias or a merged map, or
// where the kind of file has no such setting (an image of a unit). The message names the line.
Result<std::string> edit_text(const EditTarget& target, std::string_view text, const TypedSet& set);

// Fails as edit_text() does. What stands behind variables is returned as it was written.
Result<Settings> read_settings(const EditTarget& target, std::string_view text);

}  // namespace headroom::deploy
