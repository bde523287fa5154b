// SPDX-License-Identifier: Apache-2.0
#include "deploy/edit.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "deploy/compose_edit.h"
#include "deploy/unit_edit.h"
#include "deploy/unit_text.h"

namespace headroom::deploy {
namespace {

void add_missing(std::vector<std::string>& list, const std::vector<std::string>& wanted) {
  for (const std::string& one : wanted) {
    if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(one);
  }
}

Settings wanted_settings(Settings settings, const TypedSet& set) {
  if (set.image) settings.image = set.image;
  for (const auto& [name, value] : set.environment) settings.environment[name] = value;
  add_missing(settings.devices, set.devices);
  add_missing(settings.groups, set.groups);
  if (set.memory) settings.memory = set.memory;
  if (set.command) settings.command = *set.command;
  return settings;
}

// Lists are compared without their order: a new one may stand in another line than the last.
Settings in_order(Settings settings) {
  std::sort(settings.devices.begin(), settings.devices.end());
  std::sort(settings.groups.begin(), settings.groups.end());
  return settings;
}

// Every assignment besides those of the keys that hold settings.
std::string rest_of_unit(std::string_view text) {
  static const std::vector<std::string> named = {
      "Image",  "Environment", "AddDevice", "DeviceAllow", "GroupAdd",  "SupplementaryGroups",
      "Memory", "MemoryMax",   "Exec",      "ExecStart",   "PodmanArgs"};
  const UnitText unit(text);
  std::string rest;
  for (const Assignment& one : unit.assignments()) {
    if (std::find(named.begin(), named.end(), one.key) != named.end()) continue;
    rest += fmt::format("[{}] {}={}\n", one.section, one.key,
                        text.substr(one.value_begin, one.value_end - one.value_begin));
  }
  return rest;
}

Result<std::string> rest_of(const EditTarget& target, std::string_view text) {
  if (target.kind == FileKind::compose) return rest_of_compose(target, text);
  return rest_of_unit(text);
}

Error changed_more(const EditTarget& target) {
  return {Errc::unsupported,
          fmt::format("{}: expected an edit that changes what was asked for and nothing else; this "
                      "file is written in a way that does not allow one",
                      target.file),
          "edit the file by hand, and name the edited one: [[change]] with = \"…\""};
}

}  // namespace

bool is_for_rocm(const Settings& settings) {
  return settings.image && to_lower(*settings.image).find("rocm") != std::string::npos;
}

bool is_given(const Settings& settings, std::string_view device) {
  const auto& given = settings.devices;
  return std::any_of(given.begin(), given.end(), [&](const std::string& one) {
    std::string host = one.substr(0, one.find(':'));
    if (host.starts_with('-')) host.erase(0, 1);  // A quadlet's "if it is there".
    return host == device || host.starts_with(std::string(device) + "/") ||
           device.starts_with(host + "/");
  });
}

Result<FileKind> kind_of_file(std::string_view file, ServiceKind service) {
  const auto ends = [&](std::string_view suffix) { return file.ends_with(suffix); };
  if (ends(".container")) return FileKind::quadlet;
  if (ends(".service")) return FileKind::unit;
  const bool is_unit = service == ServiceKind::systemd || service == ServiceKind::quadlet;
  if (ends(".conf") && is_unit)
    return service == ServiceKind::quadlet ? FileKind::quadlet : FileKind::unit;
  if (ends(".yaml") || ends(".yml")) return FileKind::compose;
  if (service == ServiceKind::compose) return FileKind::compose;
  return Error{
      Errc::unsupported,
      fmt::format("{}: expected a unit (.service, .conf), a quadlet (.container) or a compose "
                  "file (.yaml, .yml) to put settings into",
                  file),
      "write with = \"the whole new file\" instead of set"};
}

Result<std::string> edit_text(const EditTarget& target, std::string_view text,
                              const TypedSet& set) {
  HEADROOM_TRY(const Settings before, read_settings(target, text));
  HEADROOM_TRY(const std::string rest, rest_of(target, text));
  HEADROOM_TRY(std::string edited, target.kind == FileKind::compose
                                       ? edit_compose(target, std::string(text), set)
                                       : edit_unit(target, std::string(text), set));
  const auto after = read_settings(target, edited);
  const auto rest_after = rest_of(target, edited);
  const bool as_wanted = after && in_order(*after) == in_order(wanted_settings(before, set));
  if (!as_wanted || !rest_after || *rest_after != rest) return changed_more(target);
  return edited;
}

Result<Settings> read_settings(const EditTarget& target, std::string_view text) {
  if (target.kind == FileKind::compose) return read_compose(target, text);
  return read_unit(target, text);
}

}  // namespace headroom::deploy
