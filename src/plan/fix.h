// SPDX-License-Identifier: Apache-2.0
// Every fix, in one table. A fix looks at what is known of a machine and says what would be
// changed; it reads and changes nothing itself. One file per fix under fixes/, named after it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "facts/boot_setup.h"
#include "facts/facts.h"
#include "facts/system_libraries.h"
#include "findings/diagnosis.h"
#include "knowledge/gpu_tables.h"
#include "plan/change.h"

namespace headroom::plan {

// Where a module parameter is set.
enum class Via {
  automatic,         // Where it is set already; else the kernel command line; else modprobe.d.
  kernel_arguments,  // The kernel command line.
  module_options,    // A file in /etc/modprobe.d, and the initramfs made anew.
};

struct FixOptions {
  std::string size;              // "120GiB", "max" or "auto"; empty: the fix's own default.
  std::optional<Bytes> reserve;  // For the system.
  Via via = Via::automatic;
  bool keep_gttsize = false;  // Leaves a deprecated amdgpu.gttsize where it is.
  bool rollback_on_mismatch = false;
  bool trial = true;  // Boot the new command line once first, where that can be done.
  std::string user;   // Who asked, before sudo; whose groups and home folder are meant.
  std::string home;   // That user's home folder, as on this machine; empty where unknown.
  // Facts of what "this user" may open are of that user; false where somebody else looked, such as
  // root for them.
  bool looked_as_user = true;
  std::string output;              // The folder that "stack" writes to; empty: it only says.
  std::string program;             // Where this program is, for the unit that confirms.
  std::vector<std::string> words;  // As typed, without --apply.
};

struct FixSubject {
  const facts::Facts& facts;
  const findings::Diagnosis& diagnosis;
  const knowledge::GpuTables& tables;
  const facts::BootSetup& boot;
  // Files that settings of the environment hide in, as far as they could be read: shell files,
  // /etc/environment, units, quadlets, compose files.
  const std::vector<facts::ConfigFile>& setting_files;
  const FixOptions& options;
  // The system's own copies of the libraries that GPU programs ask for; nullptr: not looked for.
  const facts::SystemLibraries* libraries = nullptr;
};

struct Fix {
  std::string_view id;       // The finding's or cause's that it fixes, or a name of its own.
  std::string_view meaning;  // One line of the list.
  std::string_view takes;    // Its options, as --help shows them: "--size SIZE --reserve SIZE".
  // Whether it would change anything here; a machine that has nothing to fix has no fixes.
  bool (*applies)(const FixSubject&) = nullptr;
  // The change; fails with invalid (an option makes no sense, or the machine needs no such fix) or
  // unsupported (it cannot be done here), each with the next command.
  Result<Change> (*plan)(const FixSubject&) = nullptr;
};

// What asking for a fix would bring on this machine.
enum class Standing {
  needed,        // Something is wrong that it mends.
  possible,      // Nothing that it mends is wrong; it would change what it is asked to.
  by_hand,       // Likewise, and it only says what a person can do.
  not_possible,  // check found what it is for, and it cannot be done here.
  not_needed,    // It plans nothing, and says why.
};
struct Outlook {
  Standing standing = Standing::not_needed;
  bool found = false;          // check reports here what it is for.
  std::optional<Error> error;  // Why it plans nothing.
};
Outlook outlook_of(const Fix& fix, const FixSubject& subject);
std::string_view to_string(Standing standing);

std::span<const Fix* const> fixes();
const Fix* find_fix(std::string_view id);

}  // namespace headroom::plan
