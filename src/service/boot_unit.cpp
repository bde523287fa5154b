// SPDX-License-Identifier: Apache-2.0
#include "service/boot_unit.h"

#include <fmt/format.h>

#include "machine/user.h"

namespace headroom::service {
namespace {

// As one word; what is in `doubled` is special (systemd.service(5), "COMMAND LINES" and
// systemd.unit(5), "SPECIFIERS").
std::string quoted(std::string_view word, std::string_view doubled) {
  std::string text = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') text += '\\';
    if (doubled.find(c) != std::string_view::npos) text += c;
    text += c;
  }
  return text + "\"";
}

// What the system's manager has to have mounted first; a user's has what it needs.
std::string mounts(const BootUnitOptions& options) {
  if (!options.user_units.empty()) return "";
  return fmt::format("RequiresMountsFor={} {}\n", quoted(options.program, "%"),
                     quoted(options.state, "%"));
}

const char* target_of(const BootUnitOptions& options) {
  return options.user_units.empty() ? "multi-user.target" : "default.target";
}

}  // namespace

// What the service's commands start stays when this ends: KillMode=process.
std::string boot_unit_text(const BootUnitOptions& options) {
  const std::string folder = options.state.substr(0, options.state.rfind('/'));
  return fmt::format(
      "# Made by headroom while a deployment runs; headroom removes it again.\n"
      "[Unit]\n"
      "Description=Finish what headroom deploy began with {0} before the power went\n"
      "{1}"
      "After={2}\n"
      "\n"
      "[Service]\n"
      "Type=simple\n"
      "KillMode=process\n"
      "Environment={3}\n"
      "ExecStart={4} deploy --finish {5}\n"
      "TimeoutStartSec=30min\n"
      "\n"
      "[Install]\n"
      "WantedBy={2}\n",
      options.service, mounts(options), target_of(options), quoted("XDG_STATE_HOME=" + folder, "%"),
      quoted(options.program, "%$"), quoted(options.file, "%$"));
}

std::string find_user_units(const std::vector<std::string>& environment) {
  const auto find = [&environment](std::string_view name) {
    for (const std::string& one : environment) {
      if (one.starts_with(name)) return one.substr(name.size());
    }
    return std::string();
  };
  const std::string config = find("XDG_CONFIG_HOME="), home = find("HOME=");
  if (config.starts_with('/')) return config + "/systemd/user";
  return home.starts_with('/') ? home + "/.config/systemd/user" : "";
}

BootUnit::BootUnit(machine::WritableFiles& files, BootUnitOptions options)
    : files_(files), options_(std::move(options)) {
  name_ = fmt::format("headroom-deploy-{}.service", options_.service);
  folder_ = options_.user_units.empty() ? "/etc/systemd/system" : options_.user_units;
  wants_ = fmt::format("{}/{}.wants", folder_, target_of(options_));
}

std::unique_ptr<BootUnit> BootUnit::make(machine::WritableFiles& files, BootUnitOptions options) {
  const auto systemd = files.look("/run/systemd/system");
  const bool may = machine::runs_as_root() || !options.user_units.empty();
  if (!systemd || !*systemd || !may || options.program.empty()) return nullptr;
  return std::unique_ptr<BootUnit>(new BootUnit(files, std::move(options)));
}

// A user who has had no units so far has none of these.
Status BootUnit::make_folders() {
  const auto is_there = [this](const std::string& path) {
    const auto entry = files_.look(path);
    return entry && *entry;
  };
  std::vector<std::string> missing;
  for (std::string one = wants_; one.size() > 1 && !is_there(one);
       one = one.substr(0, one.rfind('/')))
    missing.push_back(one);
  for (auto one = missing.rbegin(); one != missing.rend(); ++one)
    HEADROOM_CHECK(files_.make_folder(*one, 0755));
  return Done{};
}

Status BootUnit::install() {
  if (is_there_) return Done{};
  HEADROOM_CHECK(make_folders());
  HEADROOM_TRY(const auto folder, files_.look(wants_));
  FileAttributes attributes;
  if (folder) {
    attributes.uid = folder->attributes.uid;
    attributes.gid = folder->attributes.gid;
  }
  HEADROOM_CHECK(files_.replace(folder_ + "/" + name_, boot_unit_text(options_), attributes));
  HEADROOM_CHECK(files_.make_link(wants_ + "/" + name_, "../" + name_));
  is_there_ = true;
  return Done{};
}

Status BootUnit::remove() {
  is_there_ = false;
  HEADROOM_CHECK(files_.remove(wants_ + "/" + name_));
  return files_.remove(folder_ + "/" + name_);
}

}  // namespace headroom::service
