// SPDX-License-Identifier: Apache-2.0
// The systemd unit that finishes the roll-back of a deployment at the next boot, if the power went
// in the middle of it; for a service of a user's own manager, when that manager starts again. It is
// there only as long as there is something to finish.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "machine/writable_files.h"

namespace headroom::service {

struct BootUnitOptions {
  std::string service;  // Its name.
  std::string file;     // SERVICE.toml, absolute.
  std::string program;  // headroom, absolute.
  std::string state;    // The state folder, which ends with "/headroom".
  // The folder of the user's own units, for a service of the user's manager; empty: the system's.
  std::string user_units;
};

// The folder of that user's units (systemd.unit(5)), from variables as NAME=VALUE; empty where
// neither XDG_CONFIG_HOME nor HOME is among them.
std::string find_user_units(const std::vector<std::string>& environment);

// The text of the unit.
std::string boot_unit_text(const BootUnitOptions& options);

class BootUnit {
 public:
  // Null where no systemd runs, or where the unit would be the system's and this user is not root:
  // then the next call of `headroom deploy` finishes it. `files` are this system's and must outlive
  // this.
  static std::unique_ptr<BootUnit> make(machine::WritableFiles& files, BootUnitOptions options);

  // Both may be called again. The next boot reads units anew, so nobody has to be told of them.
  Status install();
  Status remove();

 private:
  BootUnit(machine::WritableFiles& files, BootUnitOptions options);
  Status make_folders();

  machine::WritableFiles& files_;
  BootUnitOptions options_;
  std::string folder_, wants_, name_;
  bool is_there_ = false;
};

}  // namespace headroom::service
