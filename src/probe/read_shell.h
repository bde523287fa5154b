// SPDX-License-Identifier: Apache-2.0
// The environment that jobs on this machine start with. On this system it is the environment of the
// shell that started headroom, which main hands in. A capture keeps the variables that were asked
// for; for any other captured container it is the environment of the first process, which passes it
// on.
#pragma once

#include <string>
#include <string_view>

#include "facts/machine_facts.h"
#include "facts/visible_devices.h"
#include "knowledge/knobs.h"
#include "machine/files.h"

namespace headroom::probe {

// What main knows but the machine's files do not tell.
struct Surroundings {
  std::string environment;  // This process's, as NUL-separated NAME=VALUE; only for the real root.
  std::string python;       // The value of --python; if empty, one is searched.
  // Whether to ask KFD how much memory is free. A process that asks stays one of KFD's processes
  // until it ends, and so keeps the driver from being taken off a GPU.
  bool ask_kfd = true;
};

struct Shell {
  facts::Text text;  // NUL-separated NAME=VALUE, only for names that are asked for.
  bool own = false;  // Whether it is a shell's, and not that of a container's first process.

  std::string get(std::string_view name) const;  // Empty if it is not set.
  facts::Variables variables() const;
};
// Keeps only paths and variables in the table of knobs, since an environment may hold secrets.
Shell read_shell(const machine::Files& files, const facts::MachineFacts& machine,
                 const Surroundings& surroundings, const knowledge::KnobTable& knobs);

// Finds the value of a variable in NUL-separated NAME=VALUE; empty if it is not there.
std::string find_variable(std::string_view environment, std::string_view name);

// Whether the table has this variable, or the name is a misspelling of one that it has.
bool is_knob(const knowledge::KnobTable& knobs, const std::string& name);

}  // namespace headroom::probe
