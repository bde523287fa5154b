// SPDX-License-Identifier: Apache-2.0
#include "probe/read_environment.h"

#include <fmt/format.h>

#include "probe/read_quadlets.h"
#include "probe/read_text.h"

namespace headroom::probe {
namespace {

using facts::Scope;
using facts::Setting;
using facts::Text;
using machine::Files;

class Reader {
 public:
  Reader(const Files& files, const knowledge::KnobTable& knobs) : files_(files), knobs_(knobs) {}

  void keep(std::vector<Setting> settings) {
    for (Setting& setting : settings) {
      if (is_known(setting.name)) environment.settings.push_back(std::move(setting));
    }
  }

  void read_snippet(const std::string& path, Scope scope) {
    keep(facts::parse_snippet(read_text(files_, path), scope));
  }

  // Reads the files of a folder whose names end in `ending`, in the order in which they are
  // applied.
  void read_folder(const std::string& folder, std::string_view ending, Scope scope) {
    for (const std::string& name : list(folder)) {
      if (name.ends_with(ending)) read_snippet(folder + "/" + name, scope);
    }
  }

  // Reads the administrator's units, and the drop-ins beside them ("NAME.service.d/*.conf").
  void read_units(const std::string& folder, std::string_view ending, Scope scope) {
    for (const std::string& name : list(folder)) {
      const std::string path = folder + "/" + name;
      if (name.ends_with(ending)) keep(facts::parse_unit(read_text(files_, path), scope));
      if (!name.ends_with(std::string(ending) + ".d")) continue;
      for (const std::string& fragment : list(path)) {
        if (!fragment.ends_with(".conf")) continue;
        keep(facts::parse_unit(read_text(files_, path + "/" + fragment), scope));
      }
    }
  }

  void read_process(std::uint64_t pid, Scope scope) {
    const Text text = read_text(files_, fmt::format("/proc/{}/environ", pid));
    if (!text && text.missing().why == facts::Why::no_permission) {
      environment.withheld.push_back(pid);
    }
    keep(facts::parse_environ(text, scope, pid));
  }

  // Services that users run themselves, and those of podman wherever they are described.
  void read_services() {
    for (const std::string& folder : quadlet_folders(files_)) {
      read_units(folder, ".container", Scope::quadlet);
    }
    for (const std::string& home : home_folders(files_)) {
      read_units(home + "/.config/systemd/user", ".service", Scope::unit);
    }
  }

  facts::Environment environment;

 private:
  std::vector<std::string> list(const std::string& folder) const {
    auto names = files_.list(folder);
    return names ? *std::move(names) : std::vector<std::string>{};
  }

  bool is_known(const std::string& name) const {
    const std::size_t dot = name.find('.');
    if (dot != std::string::npos) return knobs_.has_module(name.substr(0, dot));
    return is_knob(knobs_, name);
  }

  const Files& files_;
  const knowledge::KnobTable& knobs_;
};

}  // namespace

facts::Environment read_environment(const Files& files, const EnvironmentPlaces& places,
                                    const knowledge::KnobTable& knobs) {
  Reader reader(files, knobs);
  if (places.shell.own) reader.keep(facts::parse_environ(places.shell.text, Scope::shell, 0));
  reader.read_snippet("/etc/environment", Scope::environment_file);
  reader.read_folder("/etc/environment.d", ".conf", Scope::environment_file);
  reader.read_folder("/etc/profile.d", ".sh", Scope::profile);
  reader.read_units("/etc/systemd/system", ".service", Scope::unit);
  reader.read_services();
  // A container's first process passes its environment on to the job; on a host it does not.
  if (places.machine.in_container()) reader.read_process(1, Scope::container);
  for (const facts::Process& process : places.processes.visible) {
    if (process.pid != 1) reader.read_process(process.pid, Scope::process);
  }
  for (const facts::ModuleOption& option : places.machine.options) {
    reader.keep({to_setting(option)});
  }
  return std::move(reader.environment);
}

}  // namespace headroom::probe
