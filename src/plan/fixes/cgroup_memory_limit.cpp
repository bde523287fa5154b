// SPDX-License-Identifier: Apache-2.0
// cgroup-memory-limit: raises MemoryMax= (systemd.resource-control(5)) of the unit whose control
// group is the tight one, in a drop-in. A container's limit is its engine's, so there it says what
// to write on the host.
#include <fmt/format.h>

#include "base/text.h"
#include "findings/memory_use.h"
#include "plan/diagnosed.h"
#include "plan/fixes/every_fix.h"
#include "plan/fixes/places.h"

namespace headroom::plan {
namespace {

using namespace literals;

constexpr std::string_view id = "cgroup-memory-limit";

struct LimitedUnit {
  std::string name;        // "ollama.service", "user-1000.slice".
  bool of_user = false;    // A unit of the user's own manager.
  bool transient = false;  // A scope: it has no file.
};

// The unit whose group a file of /sys/fs/cgroup belongs to.
std::optional<LimitedUnit> unit_of(std::string_view path) {
  path = path.substr(0, path.rfind('/'));
  LimitedUnit unit;
  unit.name = std::string(path.substr(path.rfind('/') + 1));
  unit.of_user = path.find("/user@") != std::string_view::npos && !unit.name.starts_with("user@");
  unit.transient = unit.name.ends_with(".scope");
  const bool known =
      unit.transient || unit.name.ends_with(".service") || unit.name.ends_with(".slice");
  return known ? std::optional(unit) : std::nullopt;
}

// "120GiB" in systemd's words; what is said with --size, else all RAM but the system's reserve.
Result<Bytes> wanted_limit(const FixSubject& subject) {
  const auto& ram = subject.facts.machine.memory.total;
  const std::string& size = subject.options.size;
  if (!size.empty() && size != "auto" && size != "max") {
    HEADROOM_TRY(const Bytes wanted, parse_bytes(size));
    if (ram && *ram < wanted) {
      return Error{Errc::invalid,
                   fmt::format("cgroup-memory-limit: --size {} is more than the RAM of {}",
                               to_string(wanted), to_string(*ram)),
                   "headroom fix cgroup-memory-limit --size auto"};
    }
    return wanted;
  }
  if (!ram) {
    return Error{Errc::unsupported,
                 "cgroup-memory-limit: headroom does not know the size of the RAM",
                 "headroom fix cgroup-memory-limit --size SIZE"};
  }
  const Bytes reserve = subject.options.reserve.value_or(findings::reserve_for_system(*ram));
  if (!(reserve < *ram)) {
    return Error{Errc::invalid,
                 fmt::format("cgroup-memory-limit: --reserve {} leaves nothing of the RAM of {}",
                             to_string(reserve), to_string(*ram)),
                 "headroom fix cgroup-memory-limit"};
  }
  return Bytes{(ram->value - reserve.value) & ~((std::uint64_t{1} << 20U) - 1)};
}

void tell_for_host(const FixSubject& subject, Bytes wanted, Change& change) {
  const std::string& engine = *subject.facts.machine.container;
  const std::uint64_t gib = wanted.value >> 30U;
  if (engine == "kubernetes") {
    change.steps.push_back(by_hand(
        fmt::format("In the pod: resources.limits.memory: {}Gi, with a request to match", gib)));
    return;
  }
  const char* program = engine == "podman" ? "podman" : "docker";
  change.steps.push_back(by_hand(fmt::format(
      "On the host, without recreating the container: {} update --memory {}g --memory-swap {}g "
      "CONTAINER",
      program, gib, gib)));
  change.steps.push_back(by_hand(
      fmt::format("For the next container: {} run --memory {}g …   ({})", program, gib,
                  engine == "podman" ? fmt::format("in a quadlet: PodmanArgs=--memory={}g", gib)
                                     : fmt::format("in compose: mem_limit: {}g", gib))));
}

void add_drop_in(const FixSubject& subject, const LimitedUnit& unit, Bytes wanted, Change& change) {
  const std::string section = unit.name.ends_with(".slice") ? "Slice" : "Service";
  const std::string line = fmt::format("MemoryMax={}M", wanted.value >> 20U);
  Step step = unit.of_user ? add_to_user_drop_in(subject, unit.name, section, line)
                           : add_to_drop_in(subject, unit.name, section, line);
  step.what = fmt::format("Allow {} to use {} of RAM, in a drop-in", unit.name, to_string(wanted));
  step.why = "Models are loaded through RAM. Beyond the limit the kernel kills the job.";
  change.steps.push_back(std::move(step));
  if (unit.of_user) {
    change.notes.emplace_back("First: systemctl --user daemon-reload");
  } else {
    add_daemon_reload(subject, change);
  }
  if (!unit.name.ends_with(".slice")) {
    change.notes.push_back(fmt::format(
        "Then: {} restart {}", unit.of_user ? "systemctl --user" : "sudo systemctl", unit.name));
  }
}

Result<Change> make(const FixSubject& subject) {
  const facts::MachineFacts& machine = subject.facts.machine;
  const auto& limit = machine.cgroup.memory_max;
  if (!is_diagnosed(subject.diagnosis, id) || !limit) {
    return not_needed(id, "no control group here has a limit that is small for the GPU's memory");
  }
  HEADROOM_TRY(const Bytes wanted, wanted_limit(subject));
  if (!(*limit < wanted)) {
    return not_needed(id, fmt::format("the limit is {}, and {} was asked for", to_string(*limit),
                                      to_string(wanted)));
  }
  Change change;
  change.fix = id;
  change.title =
      fmt::format("Raise the memory limit from {} to {}", to_string(*limit), to_string(wanted));
  change.words = subject.options.words;
  if (machine.in_container()) {
    tell_for_host(subject, wanted, change);
    return change;
  }
  const auto unit = unit_of(limit.source().path);
  if (!unit || unit->transient) {
    change.steps.push_back(by_hand(fmt::format(
        "{} sets the limit, and no file keeps it. Restart the job with systemd-run --user --scope "
        "-p MemoryMax={}M …, or find out what limits it (a batch system, a container engine).",
        limit.source().path, wanted.value >> 20U)));
    return change;
  }
  if (unit->of_user && subject.options.home.empty()) {
    return Error{Errc::invalid, "cgroup-memory-limit: headroom does not know whose unit is meant",
                 "run it as that user with sudo: sudo headroom fix cgroup-memory-limit --apply"};
  }
  add_drop_in(subject, *unit, wanted, change);
  return change;
}

bool applies(const FixSubject& subject) {
  return acts(make(subject));
}

}  // namespace

constinit const Fix cgroup_memory_limit_fix = {
    .id = id,
    .meaning = "Raises the memory limit of the unit or container that jobs run in.",
    .takes = "--size SIZE --reserve SIZE",
    .applies = applies,
    .plan = make,
};

}  // namespace headroom::plan
