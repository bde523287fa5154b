// SPDX-License-Identifier: Apache-2.0
#include "probe/read_machine.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "facts/cgroup.h"
#include "machine/live_answers.h"
#include "probe/read_cgroup.h"
#include "probe/read_text.h"
#include "probe/rocm_folders.h"

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

// Looks for marks that container engines leave, the surest first. Kubernetes uses other engines, so
// it is checked before them.
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

// modprobe reads its folders in this order; if several have a file of the same name, only the first
// counts.
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

// Only root can read the parameter's file; if it cannot be read, the option that sets it is used.
Fact<Bytes> find_gttsize(const MachineFacts& machine) {
  Text mib = machine.parameters.at("amdgpu.gttsize");
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

// Reads the parameters that limit memory or that people set. There are about a hundred others,
// which are skipped so that a check stays quick.
std::map<std::string, Text> read_parameters(const Files& files, const std::string& ttm) {
  constexpr std::array amdgpu = {
      "cwsr_enable", "gartsize",      "gpu_recovery", "gttsize",   "lockup_timeout",
      "mes",         "noretry",       "reset_method", "runpm",     "sched_policy",
      "sg_display",  "vis_vramlimit", "vm_size",      "vramlimit", "no_system_mem_limit"};
  std::map<std::string, Text> parameters;
  const auto read = [&](const std::string& module, const std::string& key) {
    parameters[module + "." + key] =
        facts::parse_word(read_text(files, "/sys/module/" + module + "/parameters/" + key));
  };
  for (const char* key : amdgpu) read("amdgpu", key);
  for (const char* key : {"pages_limit", "page_pool_size", "dma32_pages_limit"}) read(ttm, key);
  return parameters;
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
  machine.kernel_signature = facts::parse_word(read_text(files, "/proc/version_signature"));
  read_distribution(files, machine);
  machine.rocm = read_rocm_version(files);
  machine.memory = facts::parse_meminfo(read_text(files, "/proc/meminfo"));
  machine.container = find_container(files);
  machine.ttm_module = find_ttm_module(files);
  machine.parameters = read_parameters(files, machine.ttm_module);
  machine.pages_limit =
      facts::parse_pages_limit(machine.parameters.at(machine.ttm_module + ".pages_limit"));
  machine.driver_version = facts::parse_word(read_text(files, "/sys/module/amdgpu/version"));
  machine.kfd_limits = facts::parse_kfd_limits(read_text(files, "/sys/kernel/debug/kfd/mem_limit"));
  machine.options = read_options(files);
  machine.gttsize = find_gttsize(machine);
  machine.dev_kfd = {files.exists("/dev/kfd"), Source{"/dev/kfd", 0, ""}};
  const auto usable = files.may_use("/dev/kfd");
  machine.kfd_usable =
      usable ? Fact<bool>(*usable, Source{"/dev/kfd", 0, ""})
             : Fact<bool>(Missing{Why::not_applicable, ""}, Source{"/dev/kfd", 0, ""});
  machine.kfd_owner = facts::parse_ownership(read_answer(
      "ownership of /dev/kfd", [&] { return machine::read_ownership(files, "/dev/kfd"); }));
  machine.cgroup = read_cgroup(files);
  return machine;
}

}  // namespace headroom::probe
