// SPDX-License-Identifier: Apache-2.0
// Settings: variables and module parameters as somebody wrote them, each with the place where it
// stands and for whom it holds. One parser for all the forms that people paste: shell, Dockerfile,
// compose, systemd and quadlet, docker run, .env, modprobe.d, boot loader. Pure; runs nothing and
// expands no variable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "facts/kernel_text.h"
#include "facts/text_facts.h"

namespace headroom::facts {

// For whom a setting holds.
enum class Scope {
  shell,             // This shell, and what is started from it.
  process,           // One running process that has a GPU open.
  environment_file,  // /etc/environment and environment.d: every login.
  profile,           // /etc/profile.d: every login shell.
  container,         // A container's first process: every job in it.
  unit,              // One systemd service.
  quadlet,           // One podman service.
  modprobe,          // A module, from its next load on.
  boot,              // The kernel command line.
  given,             // A file that the user asked about.
};

// How it is written; what is written back to be pasted keeps the form.
enum class Form { shell, bare, dockerfile, compose, compose_list, unit, option, modprobe, boot };

struct Setting {
  std::string name;  // "HSA_XNACK", "amdgpu.gttsize", "amd_iommu".
  std::string value;
  Source source;
  Scope scope = Scope::given;
  Form form = Form::bare;
  std::uint64_t pid = 0;  // Of Scope::process.
  // A shell keeps a plain NAME=VALUE to itself: programs do not see it.
  bool exported = true;
};

struct Environment {
  std::vector<Setting> settings;
  // Processes that have a GPU open and whose environment could not be read.
  std::vector<std::uint64_t> withheld;

  // The exported settings of one variable, for whomever they hold.
  std::vector<const Setting*> settings_of(std::string_view name) const;
};

// It holds for what is started here, not for one service or one running process.
bool holds_for_all(const Setting& setting);

// Every setting of a text, in order; a later one of a name wins, except that "unset NAME" takes the
// earlier ones away. Of the kernel command line's own words only those in `boot_words`
// ("amd_iommu") are taken. Never fails: what is no setting yields none.
std::vector<Setting> parse_snippet(const Text& text, Scope scope,
                                   const std::vector<std::string>& boot_words = {});

// NUL-separated NAME=VALUE: /proc/PID/environ, or a process's own environment.
std::vector<Setting> parse_environ(const Text& text, Scope scope, std::uint64_t pid);

// systemd units and quadlets: Environment= and UnsetEnvironment= alone.
std::vector<Setting> parse_unit(const Text& text, Scope scope);

// Module parameters that modprobe.d or the kernel command line sets, as settings.
Setting to_setting(const ModuleOption& option);

std::string_view to_string(Scope scope);

}  // namespace headroom::facts
