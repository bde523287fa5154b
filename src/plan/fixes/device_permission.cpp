// SPDX-License-Identifier: Apache-2.0
// device-permission: makes the user a member of the groups that own the GPU's device nodes, gives
// /dev/kfd such a group where it has none, and lets rootless quadlets keep the user's groups. Who
// asks for somebody else, as root does with sudo, is answered by that user's groups in the files.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "plan/fixes/every_fix.h"
#include "plan/fixes/groups.h"
#include "plan/fixes/places.h"
#include "plan/fixes/quadlet_lines.h"

namespace headroom::plan {
namespace {

constexpr std::string_view id = "device-permission";
constexpr std::string_view rules_path = "/etc/udev/rules.d/70-headroom.rules";

// Every user may open it: no group is needed, in containers neither.
bool open_to_all(const facts::Ownership& owner) {
  return owner.mode && (*owner.mode & 06U) == 06U;
}

bool is_roots_alone(const facts::Ownership& owner) {
  return owner.gid && *owner.gid == 0 && owner.mode && !open_to_all(owner);
}

// Whether somebody tried to open a node as the user who is meant, and could not.
bool was_refused(const facts::Facts& facts) {
  const auto& kfd = facts.machine.kfd_usable;
  if (kfd && !*kfd) return true;
  return std::any_of(facts.gpus.begin(), facts.gpus.end(), [](const facts::Gpu& gpu) {
    return gpu.render_usable && !*gpu.render_usable;
  });
}

std::vector<const facts::Ownership*> owners_of_nodes(const facts::Facts& facts) {
  std::vector<const facts::Ownership*> owners = {&facts.machine.kfd_owner};
  for (const facts::Gpu& gpu : facts.gpus) owners.push_back(&gpu.render_owner);
  return owners;
}

// Whether the user's next login may open such a node. Nobody is locked out by what is not known.
// Access that only a session at the machine's own screen has (systemd's uaccess) does not count.
bool will_be_refused(const FixSubject& subject, const facts::Ownership& owner) {
  if (!owner.mode || !owner.uid || !owner.gid || open_to_all(owner)) return false;
  const std::string& user = subject.options.user;
  const auto number = number_of_user(subject, user);
  if (number == *owner.uid) return (*owner.mode & 0600U) != 0600U;
  if (setting_file(subject, "/etc/group") == nullptr) return false;
  const auto group = group_of_id(subject, *owner.gid);
  const bool member = group && is_member(subject, *group, user);
  return !member || (*owner.mode & 060U) != 060U;
}

bool is_refused(const FixSubject& subject) {
  if (subject.options.looked_as_user) return was_refused(subject.facts);
  const auto owners = owners_of_nodes(subject.facts);
  return std::any_of(owners.begin(), owners.end(),
                     [&](const auto* owner) { return will_be_refused(subject, *owner); });
}

// No ordinary user is meant, and there is a node that not everybody may open.
bool lacks_user(const FixSubject& subject) {
  const std::string& user = subject.options.user;
  if (!user.empty() && user != "root") return false;
  const auto owners = owners_of_nodes(subject.facts);
  return was_refused(subject.facts) ||
         std::any_of(owners.begin(), owners.end(), [](const facts::Ownership* owner) {
           return owner->mode && !open_to_all(*owner);
         });
}

// The groups that own the nodes; render and video where that is not known.
std::vector<std::string> wanted_groups(const FixSubject& subject) {
  std::vector<std::string> names;
  const auto add = [&](const facts::Ownership& owner) {
    if (!owner.gid || *owner.gid == 0 || open_to_all(owner)) return;
    const auto name = group_of_id(subject, *owner.gid);
    if (name && std::find(names.begin(), names.end(), *name) == names.end()) names.push_back(*name);
  };
  add(subject.facts.machine.kfd_owner);
  for (const facts::Gpu& gpu : subject.facts.gpus) add(gpu.render_owner);
  if (names.empty() || is_roots_alone(subject.facts.machine.kfd_owner)) {
    for (const char* name : {"render", "video"}) {
      if (find_group(subject, name) && std::find(names.begin(), names.end(), name) == names.end()) {
        names.emplace_back(name);
      }
    }
  }
  return names;
}

// What systemd's own rules say of it; a system with rules from before KFD has none.
void add_rule(const FixSubject& subject, Change& change) {
  const facts::ConfigFile* there = setting_file(subject, rules_path);
  const std::string rule = R"(SUBSYSTEM=="kfd", KERNEL=="kfd", GROUP="render", MODE="0660")";
  if (there != nullptr && there->text.find(rule) != std::string::npos) return;
  FileEdit edit;
  edit.path = rules_path;
  if (there != nullptr) edit.before = there->text;
  edit.after = edit.before.value_or("# Made by headroom.\n") + rule + "\n";
  Step file;
  file.what = fmt::format("Assign /dev/kfd to the group render in {}", rules_path);
  file.why = "It belongs to root only, so no group gives access.";
  file.action = std::move(edit);
  change.steps.push_back(std::move(file));
  for (const std::vector<std::string>& argv :
       {std::vector<std::string>{"udevadm", "control", "--reload"},
        std::vector<std::string>{"udevadm", "trigger", "--subsystem-match=kfd"}}) {
    Command command;
    command.argv = argv;
    command.undo = argv;
    command.undo_run = UndoRun::always;
    Step step;
    step.kind = StepKind::service;
    step.what = argv.back() == "--reload" ? "Make udev reload its rules"
                                          : "Make udev apply them to /dev/kfd";
    step.action = std::move(command);
    change.steps.push_back(std::move(step));
  }
}

void add_groups(const FixSubject& subject, Change& change) {
  std::vector<std::string> joined;
  for (const std::string& name : wanted_groups(subject)) {
    if (!is_member(subject, name, subject.options.user)) joined.push_back(name);
  }
  if (joined.empty()) return;
  for (Step& step : steps_to_join(subject, joined)) change.steps.push_back(std::move(step));
  change.notes.push_back(
      fmt::format("Log out and log in again, because groups are assigned at login. Until then: sg "
                  "{} -c 'headroom check'",
                  joined.front()));
}

// Rootless podman maps groups away unless it is told to keep them; crun alone can.
void add_quadlets(const FixSubject& subject, Change& change) {
  if (open_to_all(subject.facts.machine.kfd_owner)) return;
  bool any = false;
  for (const facts::ConfigFile& file : subject.setting_files) {
    const bool rootless = is_in_home(subject.options, file.path) &&
                          file.path.find("/.config/containers/systemd/") != std::string::npos;
    if (!rootless || !file.path.ends_with(".container")) continue;
    if (!passes_gpu(file.text) || keeps_groups(file.text)) continue;
    Step step;
    step.kind = StepKind::environment;
    step.what = "Make the container keep your groups, in " + file.path;
    step.why = "Otherwise the groups that own the GPU's nodes do not exist inside the container.";
    step.action =
        FileEdit{file.path, file.text,
                 add_container_line(file.text, "PodmanArgs=--group-add=keep-groups"), std::nullopt};
    step.needs_root = false;
    change.steps.push_back(std::move(step));
    change.notes.push_back(
        fmt::format("Then: systemctl --user daemon-reload && systemctl --user "
                    "restart {}",
                    service_of(file.path).value_or("")));
    any = true;
  }
  if (any) change.notes.emplace_back("keep-groups needs the runtime crun, podman's usual one.");
}

void tell_for_host(const FixSubject& subject, Change& change) {
  change.steps.push_back(by_hand(
      "On the host: podman run --device /dev/kfd --device /dev/dri --group-add keep-groups …   "
      "(docker: --group-add \"$(getent group render | cut -d: -f3)\" --group-add video)"));
  change.steps.push_back(
      by_hand("On the host, as the user who starts the container: headroom fix device-permission"));
  if (*subject.facts.machine.container == "podman") {
    change.notes.emplace_back(
        "A rootless container has its user's groups only with keep-groups, or if /etc/subgid gives "
        "the user the group's number.");
  }
}

std::string why_not_needed(const FixSubject& subject) {
  if (subject.options.looked_as_user) return "the device nodes here can be opened";
  const auto owners = owners_of_nodes(subject.facts);
  const auto is_known = [](const auto* owner) { return owner->mode.known(); };
  if (std::none_of(owners.begin(), owners.end(), is_known)) {
    return "headroom does not know who may open the device nodes of this machine";
  }
  if (setting_file(subject, "/etc/group") == nullptr) {
    return "headroom does not know the groups of this machine: /etc/group could not be read";
  }
  const auto is_open = [](const auto* owner) { return !owner->mode || open_to_all(*owner); };
  if (std::all_of(owners.begin(), owners.end(), is_open)) {
    return "everybody may open the device nodes here";
  }
  return fmt::format(
      "{} is already in the groups that may open the device nodes. A session that is older than "
      "the membership has to log out and log in again",
      subject.options.user);
}

// A node's group that has no name here, so that nobody can be put into it.
std::optional<std::uint64_t> find_nameless_group(const FixSubject& subject) {
  for (const facts::Ownership* owner : owners_of_nodes(subject.facts)) {
    if (!owner->gid || !will_be_refused(subject, *owner)) continue;
    if (!group_of_id(subject, *owner->gid)) return *owner->gid;
  }
  return std::nullopt;
}

Error nothing_to_join(const FixSubject& subject) {
  const auto nameless = find_nameless_group(subject);
  if (!nameless) {
    return not_needed(id, fmt::format("{} is in the groups already. Log out and log in again",
                                      subject.options.user));
  }
  return {Errc::unsupported,
          fmt::format("{}: expected a group with the number {}, which the device nodes belong to, "
                      "in /etc/group; found none",
                      id, *nameless),
          fmt::format("getent group {}   (a directory service may have it)", *nameless)};
}

Error ask_for_user(const FixSubject& subject) {
  return {
      Errc::invalid,
      fmt::format("{}: expected the user who should get access to the device nodes, found {}", id,
                  subject.options.user.empty() ? "nobody" : "root, who may open all of them"),
      fmt::format("headroom fix {} --user NAME", id)};
}

Result<Change> make(const FixSubject& subject) {
  const facts::MachineFacts& machine = subject.facts.machine;
  Change change;
  change.fix = id;
  change.title = "Give this user access to the GPU's device nodes";
  change.words = subject.options.words;
  const bool needed = is_refused(subject);
  if (machine.in_container()) {
    if (!needed) return not_needed(id, "the device nodes here can be opened");
    tell_for_host(subject, change);
    return change;
  }
  if (lacks_user(subject)) return ask_for_user(subject);
  if (needed) {
    if (is_roots_alone(machine.kfd_owner)) add_rule(subject, change);
    add_groups(subject, change);
    if (change.steps.empty()) return nothing_to_join(subject);
  }
  add_quadlets(subject, change);
  if (!change.steps.empty()) return change;
  return not_needed(id, why_not_needed(subject));
}

bool applies(const FixSubject& subject) {
  return acts(make(subject));
}

}  // namespace

constinit const Fix device_permission_fix = {
    .id = id,
    .meaning = "Adds you to the groups that own the GPU's device nodes.",
    .takes = "--user NAME",
    .applies = applies,
    .plan = make,
};

}  // namespace headroom::plan
