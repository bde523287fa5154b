// SPDX-License-Identifier: Apache-2.0
// What every boot from the next one on gets, as the boot loader's files are now. /proc/cmdline
// tells of this boot alone: between a change, or its undo, and the reboot the two differ. What is
// in force is the one, what is set is the other.
#pragma once

#include <string_view>
#include <vector>

#include "plan/boot/boot_steps.h"

namespace headroom::plan {

// The kernel command line of what starts when nobody chooses; a trial's entry, chosen for one boot,
// does not count. Missing where the files could not be read, or do not tell.
facts::Text next_command_line(const BootSubject& subject);
// Whether that was read where it boots from; where GRUB's menu could not be, what it is made from
// is the best guess, and somebody may have edited that since.
bool is_certain(const facts::Text& next_command_line);

// The machine with the module options that its next boot will have. Those of the command line have
// the boot loader's file as their source; where that is not known, they are this boot's.
facts::MachineFacts at_next_boot(const BootSubject& subject);

// Whether the option comes from a command line, this boot's or the next one's, and from no file of
// modprobe.d.
bool is_kernel_argument(const facts::ModuleOption& option);

// Whether this boot has the word on its command line, and the next one will not.
bool is_lost_at_next_boot(const BootSubject& subject, std::string_view word);

}  // namespace headroom::plan
