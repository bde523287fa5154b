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

}  // namespace

// What the service's commands start stays when this ends: KillMode=process.
std::string boot_unit_text(const BootUnitOptions& options) {
  const std::string folder = options.state.substr(0, options.state.rfind('/'));
  return fmt::format(
      "# Made by headroom while a deployment runs; headroom removes it again.\n"
      "[Unit]\n"
      "Description=Finish what headroom deploy began with {} before the power went\n"
      "RequiresMountsFor={} {}\n"
      "After=multi-user.target\n"
      "\n"
      "[Service]\n"
      "Type=simple\n"
      "KillMode=process\n"
      "Environment={}\n"
      "ExecStart={} deploy --finish {}\n"
      "TimeoutStartSec=30min\n"
      "\n"
      "[Install]\n"
      "WantedBy=multi-user.target\n",
      options.service, quoted(options.program, "%"), quoted(options.state, "%"),
      quoted("XDG_STATE_HOME=" + folder, "%"), quoted(options.program, "%$"),
      quoted(options.file, "%$"));
}

BootUnit::BootUnit(machine::WritableFiles& files, BootUnitOptions options)
    : files_(files), options_(std::move(options)) {
  name_ = fmt::format("headroom-deploy-{}.service", options_.service);
  path_ = "/etc/systemd/system/" + name_;
  link_ = "/etc/systemd/system/multi-user.target.wants/" + name_;
}

std::unique_ptr<BootUnit> BootUnit::make(machine::WritableFiles& files, BootUnitOptions options) {
  const auto systemd = files.look("/run/systemd/system");
  if (!systemd || !*systemd || !machine::runs_as_root() || options.program.empty()) return nullptr;
  return std::unique_ptr<BootUnit>(new BootUnit(files, std::move(options)));
}

Status BootUnit::install() {
  if (is_there_) return Done{};
  HEADROOM_CHECK(files_.make_folder("/etc/systemd/system/multi-user.target.wants", 0755));
  HEADROOM_CHECK(files_.replace(path_, boot_unit_text(options_), FileAttributes{}));
  HEADROOM_CHECK(files_.make_link(link_, "../" + name_));
  is_there_ = true;
  return Done{};
}

Status BootUnit::remove() {
  is_there_ = false;
  HEADROOM_CHECK(files_.remove(link_));
  return files_.remove(path_);
}

}  // namespace headroom::service
