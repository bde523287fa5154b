// SPDX-License-Identifier: Apache-2.0
// Plays the next boot of a scratch root: reads what its firmware and boot loader would read, loads
// the kernel and the initramfs that they name, and writes what the kernel and its drivers would say
// of it under /proc and /sys. Nothing else of the root tells it what to do.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace headroom::testing {

struct BootOutcome {
  std::string entry;                // What the boot loader calls it.
  std::string kernel;               // "6.17.9-200.fc42.x86_64".
  std::string command_line;         // As /proc/cmdline has it.
  std::vector<std::string> failed;  // Entries that were started before, and did not come up.
};

// With `first_fails` the entry that is chosen first never comes up: whoever sits there switches the
// machine off and on again, until another entry is chosen. Fails if none ever is, or if what an
// entry names is not there.
Result<BootOutcome> simulate_boot(const std::filesystem::path& root, bool first_fails = false);

}  // namespace headroom::testing
