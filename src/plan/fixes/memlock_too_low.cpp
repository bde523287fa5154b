// SPDX-License-Identifier: Apache-2.0
// memlock-too-low: lifts the limit on locked memory for logins (limits.conf(5)), for the services
// that hold a GPU now (LimitMEMLOCK= of systemd.exec(5)) and for quadlets that pass one. In a
// container it is the host's to set.
#include <fmt/format.h>

#include <set>

#include "plan/diagnosed.h"
#include "plan/fixes/every_fix.h"
#include "plan/fixes/places.h"
#include "plan/fixes/quadlet_lines.h"

namespace headroom::plan {
namespace {

constexpr std::string_view id = "memlock-too-low";
constexpr std::string_view path = "/etc/security/limits.d/90-headroom.conf";
// "*" does not mean root (limits.conf(5)).
constexpr std::string_view lines = "* - memlock unlimited\nroot - memlock unlimited\n";

void add_limits(const FixSubject& subject, Change& change) {
  const facts::ConfigFile* there = setting_file(subject, path);
  if (there != nullptr && there->text.find("memlock unlimited") != std::string::npos) return;
  FileEdit edit;
  edit.path = path;
  if (there != nullptr) edit.before = there->text;
  edit.after = edit.before.value_or("# Made by headroom.\n") + std::string(lines);
  Step step;
  step.what = fmt::format("Remove the limit on locked memory for every login, in {}", path);
  step.why = "RCCL locks its buffers in RAM for the network adapter.";
  step.action = std::move(edit);
  change.steps.push_back(std::move(step));
  change.notes.emplace_back("Log in again. ulimit -l then says unlimited.");
}

void add_services(const FixSubject& subject, Change& change) {
  std::set<std::string> units;
  for (const facts::Gpu& gpu : subject.facts.gpus) {
    for (const facts::Holder& holder : gpu.holders) {
      const bool own = holder.unit.ends_with(".service") && holder.engine.empty() &&
                       !holder.unit.starts_with("user@");
      if (own) units.insert(holder.unit);
    }
  }
  for (const std::string& unit : units) {
    Step step = add_to_drop_in(subject, unit, "Service", "LimitMEMLOCK=infinity");
    step.what = fmt::format("Remove the limit for {} in a drop-in", unit);
    step.why = "Services do not read limits.d.";
    change.steps.push_back(std::move(step));
    change.notes.push_back(fmt::format("Then: sudo systemctl restart {}", unit));
  }
  for (const facts::ConfigFile& file : subject.setting_files) {
    if (!file.path.ends_with(".container") || !is_editable(file.path)) continue;
    if (!passes_gpu(file.text) || has_container_option(file.text, "Ulimit", "--ulimit")) continue;
    Step step;
    step.kind = StepKind::service;
    step.what = "Remove the limit for the container of " + file.path;
    step.action = FileEdit{file.path, file.text,
                           add_container_line(file.text, "Ulimit=memlock=-1:-1"), std::nullopt};
    step.needs_root = needs_root(subject.options, file.path);
    const bool system = step.needs_root;
    change.steps.push_back(std::move(step));
    if (system) units.insert(file.path);
    if (!system) change.notes.emplace_back("First: systemctl --user daemon-reload");
  }
  if (!units.empty()) add_daemon_reload(subject, change);
}

Result<Change> make(const FixSubject& subject) {
  if (!is_diagnosed(subject.diagnosis, id)) {
    return not_needed(id, "the limit on locked memory does not matter here");
  }
  Change change;
  change.fix = id;
  change.title = "Allow processes to lock memory";
  change.words = subject.options.words;
  if (subject.facts.machine.in_container()) {
    change.steps.push_back(
        by_hand("On the host: docker run --ulimit memlock=-1 …   (the same for podman; in a "
                "quadlet Ulimit=memlock=-1:-1; in compose ulimits: { memlock: -1 })"));
    change.notes.emplace_back(
        "A rootless container cannot have more than its user. On the host, headroom fix "
        "memlock-too-low");
    return change;
  }
  add_limits(subject, change);
  add_services(subject, change);
  if (!change.steps.empty()) return change;
  return not_needed(id, fmt::format("{} already says so. Log in again", path));
}

bool applies(const FixSubject& subject) {
  return acts(make(subject));
}

}  // namespace

constinit const Fix memlock_too_low_fix = {
    .id = id,
    .meaning = "Removes the limit on locked memory, which RCCL over InfiniBand needs.",
    .takes = "",
    .applies = applies,
    .plan = make,
};

}  // namespace headroom::plan
