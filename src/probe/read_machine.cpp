// SPDX-License-Identifier: Apache-2.0
#include "probe/read_machine.h"

#include <algorithm>

#include "base/text.h"
#include "facts/cgroup.h"
#include "probe/read_text.h"

namespace headroom::probe {
namespace {

using facts::Fact;
using facts::MachineFacts;
using facts::Missing;
using facts::ModuleOption;
using facts::Source;
using facts::Text;
using facts::Why;
using machine::Files;

void read_distribution(const Files& files, MachineFacts& machine) {
  Text release = read_text(files, "/etc/os-release");
  if (!release) release = read_text(files, "/usr/lib/os-release");
  machine.distribution = parse_os_release(release, "PRETTY_NAME");
  machine.distribution_id = parse_os_release(release, "ID");
  const Text like = parse_os_release(release, "ID_LIKE");
  if (machine.distribution_id && like) {
    machine.distribution_id = {*machine.distribution_id + " " + *like,
                               machine.distribution_id.source()};
  }
}

// Marks that container engines leave, surest first. Kubernetes runs others' engines, so it is asked
// first.
Text find_container(const Files& files) {
  const auto here = [&](const char* path, const char* kind) {
    return Text(std::string(kind), Source{path, 0, ""});
  };
  const char* service_account = "/var/run/secrets/kubernetes.io";
  if (files.exists(service_account)) return here(service_account, "kubernetes");
  const Text cgroup = read_text(files, "/proc/1/cgroup");
  const auto membership = cgroup ? facts::parse_membership(*cgroup) : facts::Membership{};
  if (membership.engine == "kubernetes") return here("/proc/1/cgroup", "kubernetes");
  if (files.exists("/.dockerenv")) return here("/.dockerenv", "docker");
  if (files.exists("/run/.containerenv")) return here("/run/.containerenv", "podman");
  Text systemd = facts::parse_word(read_text(files, "/run/systemd/container"));
  if (systemd && !systemd->empty()) return systemd;
  Text variable = parse_environment(read_text(files, "/proc/1/environ"), "container");
  if (variable && !variable->empty()) return variable;
  if (files.exists("/singularity")) return here("/singularity", "singularity");
  if (!membership.engine.empty()) return {membership.engine, cgroup.source()};
  return {Missing{Why::not_present, "no mark of a container"}, Source{"/", 0, ""}};
}

// modprobe reads its folders in this order; of one file name only the first folder's counts.
std::vector<ModuleOption> read_options(const Files& files) {
  std::vector<ModuleOption> options;
  std::vector<std::string> seen;
  for (const char* folder : {"/etc/modprobe.d", "/run/modprobe.d", "/usr/lib/modprobe.d"}) {
    const auto names = files.list(folder);
    for (const std::string& name : names ? *names : std::vector<std::string>{}) {
      if (!name.ends_with(".conf")) continue;
      if (std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
      seen.push_back(name);
      const auto found = parse_modprobe(read_text(files, std::string(folder) + "/" + name));
      options.insert(options.end(), found.begin(), found.end());
    }
  }
  const auto boot = parse_cmdline(read_text(files, "/proc/cmdline"));
  options.insert(options.end(), boot.begin(), boot.end());
  return options;
}

bool used_by_amdgpu(const Files& files, const Text& modules, const std::string& module) {
  if (files.exists("/sys/module/" + module + "/holders/amdgpu")) return true;
  const auto users = parse_module_users(modules, module);
  return users && std::find(users->begin(), users->end(), "amdgpu") != users->end();
}

// AMD's DKMS driver brings its own TTM, amdttm; the distribution's ttm may be loaded beside it.
std::string find_ttm_module(const Files& files) {
  const Text modules = read_text(files, "/proc/modules");
  for (const char* module : {"amdttm", "ttm"}) {
    if (used_by_amdgpu(files, modules, module)) return module;
  }
  return files.exists("/sys/module/amdttm/parameters/pages_limit") ? "amdttm" : "ttm";
}

// The parameter's file is readable to root only; then what asked for it stands in.
Fact<Bytes> read_gttsize(const Files& files, const MachineFacts& machine) {
  Text mib = facts::parse_word(read_text(files, "/sys/module/amdgpu/parameters/gttsize"));
  const ModuleOption* option = machine.option("amdgpu", "gttsize");
  if (!mib && option != nullptr) mib = {option->value, option->source};
  if (!mib && mib.missing().why == Why::no_permission) {
    return {Missing{Why::not_limited, "no option sets it"}, mib.source()};
  }
  if (!mib) return mib.absent<Bytes>();
  if (mib->starts_with('-')) return {Missing{Why::not_limited, "automatic"}, mib.source()};
  const auto number = parse_u64(*mib);
  if (!number || *number > (UINT64_MAX >> 20U)) {
    return {Missing{Why::not_understood, *mib}, mib.source()};
  }
  return {Bytes{*number << 20U}, mib.source()};
}

// The limits of this process's own groups; of a captured machine, those at the root of its tree.
facts::CgroupLimits read_cgroup(const Files& files) {
  const Text own = files.is_real() ? read_text(files, "/proc/self/cgroup")
                                   : Text(Missing{}, Source{"/proc/self/cgroup", 0, ""});
  const auto paths = own ? facts::parse_cgroup_paths(*own) : facts::CgroupPaths{};
  const bool v1 = files.exists("/sys/fs/cgroup/memory/memory.limit_in_bytes");
  const std::string base = v1 ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";
  std::string group = v1 ? paths.memory_v1 : paths.v2;
  if (group == "/") group.clear();
  facts::CgroupLimits limits;
  limits.memory_used = parse_byte_count(
      read_text(files, base + group + (v1 ? "/memory.usage_in_bytes" : "/memory.current")));
  for (std::string at = group;; at.erase(at.rfind('/'))) {
    const auto limit = parse_memory_limit(
        read_text(files, base + at + (v1 ? "/memory.limit_in_bytes" : "/memory.max")));
    const bool tighter = limit && (!limits.memory_max || limit->value < limits.memory_max->value);
    const bool better_reason =
        !limit && !limits.memory_max && limit.missing().why == Why::not_limited;
    if (tighter || better_reason || at == group) limits.memory_max = limit;
    if (at.empty()) break;
  }
  limits.dmem_max = read_text(files, "/sys/fs/cgroup" + (v1 ? "" : group) + "/dmem.max");
  limits.dmem_current = read_text(files, "/sys/fs/cgroup" + (v1 ? "" : group) + "/dmem.current");
  return limits;
}

// Where an override may be set for everything that runs here. A container's first process passes
// its environment on to the job; on a host it does not.
std::vector<ModuleOption> read_overrides(const Files& files, bool in_container) {
  const std::string variable = "HSA_OVERRIDE_GFX_VERSION";
  std::vector<ModuleOption> found;
  const auto look = [&](const std::string& path) {
    const Text value = parse_environment(read_text(files, path), variable);
    if (value) found.push_back({"", variable, *value, value.source()});
  };
  look("/etc/environment");
  const auto profiles = files.list("/etc/profile.d");
  for (const std::string& name : profiles ? *profiles : std::vector<std::string>{}) {
    if (name.ends_with(".sh")) look("/etc/profile.d/" + name);
  }
  if (in_container) look("/proc/1/environ");
  return found;
}

}  // namespace

MachineFacts read_machine(const Files& files) {
  MachineFacts machine;
  machine.live = files.is_real();
  const auto processes = files.list("/proc");
  machine.processes_visible =
      processes && std::any_of(processes->begin(), processes->end(),
                               [](const std::string& name) { return parse_u64(name).has_value(); });
  const auto dev = files.list("/dev");
  machine.dev_visible = dev && !dev->empty();
  machine.kernel = facts::parse_word(read_text(files, "/proc/sys/kernel/osrelease"));
  read_distribution(files, machine);
  machine.rocm = facts::parse_word(read_text(files, "/opt/rocm/.info/version"));
  machine.memory = facts::parse_meminfo(read_text(files, "/proc/meminfo"));
  machine.container = find_container(files);
  machine.ttm_module = find_ttm_module(files);
  machine.pages_limit = facts::parse_pages_limit(
      read_text(files, "/sys/module/" + machine.ttm_module + "/parameters/pages_limit"));
  machine.options = read_options(files);
  machine.gttsize = read_gttsize(files, machine);
  machine.dev_kfd = {files.exists("/dev/kfd"), Source{"/dev/kfd", 0, ""}};
  const auto usable = files.may_use("/dev/kfd");
  machine.kfd_usable =
      usable ? Fact<bool>(*usable, Source{"/dev/kfd", 0, ""})
             : Fact<bool>(Missing{Why::not_applicable, ""}, Source{"/dev/kfd", 0, ""});
  machine.cgroup = read_cgroup(files);
  machine.overrides = read_overrides(files, machine.in_container());
  return machine;
}

}  // namespace headroom::probe
