// SPDX-License-Identifier: Apache-2.0
// The systemd unit that finishes the roll-back of a deployment at the next boot, if the power went
// in the middle of it. It is there only as long as there is something to finish.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "machine/writable_files.h"

namespace headroom::service {

struct BootUnitOptions {
  std::string service;  // Its name.
  std::string file;     // SERVICE.toml, absolute.
  std::string program;  // headroom, absolute.
  std::string state;    // The state folder, which ends with "/headroom".
};

// The text of the unit.
std::string boot_unit_text(const BootUnitOptions& options);

class BootUnit {
 public:
  // Null where no systemd runs, or where this user is not root: then the next call of
  // `headroom deploy` finishes it. `files` are this system's and must outlive this.
  static std::unique_ptr<BootUnit> make(machine::WritableFiles& files, BootUnitOptions options);

  // Both may be called again. The next boot reads units anew, so nobody has to be told of them.
  Status install();
  Status remove();

 private:
  BootUnit(machine::WritableFiles& files, BootUnitOptions options);

  machine::WritableFiles& files_;
  BootUnitOptions options_;
  std::string path_, link_, name_;
  bool is_there_ = false;
};

}  // namespace headroom::service
