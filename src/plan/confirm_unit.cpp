// SPDX-License-Identifier: Apache-2.0
#include "plan/confirm_unit.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace headroom::plan {
namespace {

constexpr std::string_view unit_name = "headroom-confirm.service";

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

bool has_units(const facts::BootSetup& boot) {
  const bool nixos = boot.command_line && *boot.command_line == facts::CommandLineTool::nixos;
  return boot.has("systemctl") && !nixos;
}

Step reload() {
  Step step;
  step.kind = StepKind::service;
  step.what = "Make systemd reload its units";
  step.action = Command{
      {"systemctl", "daemon-reload"}, {}, {}, {"systemctl", "daemon-reload"}, UndoRun::always};
  return step;
}

// A unit that ended in failure stays listed as failed when its file is gone, until it is forgotten.
// A pattern, because a name that systemd does not know would be an error.
Step forget() {
  const std::vector<std::string> argv = {"systemctl", "reset-failed", "headroom-confirm*"};
  Step step;
  step.kind = StepKind::service;
  step.what = "Reset the unit's earlier failures in systemd";
  step.action = Command{argv, {}, {}, argv, UndoRun::always};
  return step;
}

Step edit_unit(std::string what, std::string why, std::optional<std::string> before,
               std::optional<std::string> after) {
  Step step;
  step.kind = StepKind::service;
  step.what = std::move(what);
  step.why = std::move(why);
  step.action = FileEdit{std::string(confirm_unit_path), std::move(before), std::move(after), {}};
  return step;
}

Step edit_link(std::string what, std::optional<std::string> before,
               std::optional<std::string> after) {
  Step step;
  step.kind = StepKind::service;
  step.what = std::move(what);
  step.action = LinkEdit{std::string(confirm_unit_link), std::move(before), std::move(after)};
  return step;
}

// SELinux does not let systemd start programs of home folders, and such folders may be encrypted
// until somebody logs in.
bool may_be_out_of_reach(std::string_view program) {
  const auto folders = split(program, '/');  // The first is empty.
  const bool in_var = folders.size() > 2 && folders[1] == "var";
  const std::string_view first = folders.size() > 2 ? folders[in_var ? 2 : 1] : "";
  return first == "home" || first == "root" || first == "tmp" || first == "roothome";
}

}  // namespace

std::string confirm_unit(const FixOptions& options) {
  // After multi-user.target: a boot that gets there has come up. The driver may still be loading
  // then, and the devices are waited for. Nothing is done on a machine without a journal. A simple
  // unit has begun once it runs. A oneshot is beginning until it ends, and one that has removed its
  // own file and had the units read again is ended by systemd after the default 90 seconds.
  return fmt::format(
      "# Made by headroom for the boot after a change; headroom removes it again.\n"
      "[Unit]\n"
      "Description=Compare this boot's limits with headroom's prediction\n"
      "ConditionPathIsDirectory=/var/lib/headroom/changes\n"
      "RequiresMountsFor={} /var/lib/headroom\n"
      "After=multi-user.target\n"
      "\n"
      "[Service]\n"
      "Type=simple\n"
      "ExecStartPre=-udevadm settle --timeout=60\n"
      "ExecStart={} confirm --at-boot{}\n"
      "TimeoutStartSec=15min\n"
      "\n"
      "[Install]\n"
      "WantedBy=multi-user.target\n",
      quoted(options.program, "%"), quoted(options.program, "%$"),
      options.rollback_on_mismatch ? " --rollback-on-mismatch" : "");
}

namespace {

// Who does a step by hand is told when to reboot: once, at the end.
void add_reboot(Change& change) {
  const bool by_hand = std::any_of(change.steps.begin(), change.steps.end(),
                                   [](const Step& one) { return one.kind == StepKind::by_hand; });
  if (!by_hand) return;
  Step step;
  step.kind = StepKind::by_hand;
  step.what = "Reboot";
  step.action = Instruction{"sudo systemctl reboot"};
  change.steps.push_back(std::move(step));
}

}  // namespace

void add_confirm_unit(Change& change, const facts::BootSetup& boot, const FixOptions& options) {
  if (!change.needs_reboot) return;
  if (!change.forecast) return add_reboot(change);
  if (!has_units(boot) || options.program.empty()) {
    Step step;
    step.kind = StepKind::by_hand;
    step.what = "Reboot, then check the result";
    step.why = "It compares the limits with those predicted above.";
    step.action = Instruction{std::string(confirm_by_hand)};
    change.steps.push_back(std::move(step));
    return;
  }
  const std::string unit = confirm_unit(options);
  // One that an earlier change left, which this one takes over.
  const facts::ConfigFile* old = boot.file(confirm_unit_path);
  const auto before = old == nullptr ? std::nullopt : std::optional(old->text);
  const std::string target = fmt::format("../{}", unit_name);
  if (before != unit) {
    change.steps.push_back(
        edit_unit("Add a unit that checks the result of the reboot",
                  "It runs once, and removes itself if the result is as predicted.", before, unit));
  }
  if (boot.file(confirm_unit_link) == nullptr) {
    change.steps.push_back(edit_link("Start that unit at the next boot", std::nullopt, target));
  }
  change.steps.push_back(reload());
  change.steps.push_back(forget());
  add_reboot(change);
  change.on_confirm.push_back(edit_link("Do not start the unit any more", target, std::nullopt));
  change.on_confirm.push_back(edit_unit("Remove the unit", "", unit, std::nullopt));
  change.on_confirm.push_back(reload());
  if (may_be_out_of_reach(options.program)) {
    change.notes.push_back(fmt::format(
        "headroom runs from {} here, which systemd may not reach during the boot. If headroom "
        "history still says after the reboot that it waits for it, run: sudo headroom confirm",
        options.program));
  }
}

}  // namespace headroom::plan
