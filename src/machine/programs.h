// SPDX-License-Identifier: Apache-2.0
// The machine's own programs that a change runs: update-grub, dracut, systemctl. Of this system
// they are found in the system's folders, never through the caller's PATH; of a scratch root they
// are the root's own, so that a test never runs the host's.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headroom::machine {

struct ProgramOutput {
  int status = 0;    // Exit status, or 128 + the number of the signal that ended it.
  std::string text;  // Standard output and error, as they came; the last 64 KiB.
};

class Programs {
 public:
  Programs() = default;
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;
  virtual ~Programs() = default;

  virtual bool has(std::string_view name) const = 0;
  // Waits for it, without a terminal and with nothing on its standard input. Fails with not_found
  // where the machine has no such program; a status other than 0 is a result, not an error.
  virtual Result<ProgramOutput> run(const std::vector<std::string>& argv) = 0;
};

// Of "/": looks in /usr/local/sbin, /usr/local/bin, /usr/sbin, /usr/bin, /sbin and /bin; runs with
// a bare environment (PATH, LC_ALL=C.UTF-8, HOME=/root). Of a scratch root: looks in the same
// folders under it, runs with the variable ROOT set to its path. Fails with not_this_system for
// other roots.
Result<std::unique_ptr<Programs>> make_programs(const std::string& root);

}  // namespace headroom::machine
