// SPDX-License-Identifier: Apache-2.0
// What main knows and the files do not: the shell that headroom was started from. Of a captured
// machine another environment counts, that of its own first process.
#pragma once

#include <string>
#include <string_view>

#include "facts/machine_facts.h"
#include "facts/visible_devices.h"
#include "machine/files.h"

namespace headroom::probe {

struct Surroundings {
  facts::Variables environment;  // Believed on the real root only.
  std::string python;            // --python; empty: look for one.
};

// The environment that jobs here start with.
struct Environment {
  facts::Variables variables;
  facts::Source source;

  std::string get(std::string_view name) const;  // Empty if it is not set.
};

// The shell's; in a captured container that of its first process, which hands it on; of any other
// captured machine none.
Environment read_environment(const machine::Files& files, const facts::MachineFacts& machine,
                             const Surroundings& surroundings);

}  // namespace headroom::probe
