// SPDX-License-Identifier: Apache-2.0
// The environment that jobs here start with. Of this system it is that of the shell that headroom
// was started from, which main hands in; a capture keeps what was asked of it; of any other
// captured container it is that of the first process, which hands it on.
#pragma once

#include <string>
#include <string_view>

#include "facts/machine_facts.h"
#include "facts/visible_devices.h"
#include "knowledge/knobs.h"
#include "machine/files.h"

namespace headroom::probe {

// What main knows and the files do not.
struct Surroundings {
  std::string environment;  // This process's, NUL-separated NAME=VALUE; for the real root alone.
  std::string python;       // --python; empty: look for one.
  // Whether KFD is asked what it calls free. Whoever asks is one of KFD's processes until it ends,
  // and in the way of taking the driver off a GPU.
  bool ask_kfd = true;
};

struct Shell {
  facts::Text text;  // NUL-separated NAME=VALUE; only names that somebody asks for.
  bool own = false;  // A shell's, not that of a container's first process.

  std::string get(std::string_view name) const;  // Empty if it is not set.
  facts::Variables variables() const;
};
// Only paths and what the table of knobs knows is kept: an environment may hold secrets.
Shell read_shell(const machine::Files& files, const facts::MachineFacts& machine,
                 const Surroundings& surroundings, const knowledge::KnobTable& knobs);

// The value of a variable in NUL-separated NAME=VALUE; empty if it is not there.
std::string find_variable(std::string_view environment, std::string_view name);

// A variable that the table knows, or a slip of the pen for one.
bool is_knob(const knowledge::KnobTable& knobs, const std::string& name);

}  // namespace headroom::probe
