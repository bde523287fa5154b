// SPDX-License-Identifier: Apache-2.0
// The kernel command line of machines whose grub.cfg is made from /etc/default/grub: by update-grub
// (Debian, Ubuntu), grub-mkconfig (Arch) or grub2-mkconfig (openSUSE). 10_linux writes
// GRUB_CMDLINE_LINUX to every entry and GRUB_CMDLINE_LINUX_DEFAULT behind it, to all but the
// recovery entries; so that recovery stays as it was, new words go to the latter.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/boot/boot_steps.h"

namespace headroom::plan {

// The steps that make it permanent: the files that count, then grub.cfg made anew. No steps where
// every word is there already. Fails with unsupported if /etc/default/grub could not be read, or a
// value cannot be edited safely.
Result<std::vector<Step>> plan_grub_defaults(const BootSubject& subject,
                                             const ArgumentChange& change);

// The same with a trial boot in front where that can be done.
Result<BootSteps> plan_by_grub(const BootSubject& subject, const ArgumentChange& change);

// The words that /etc/default/grub and what is read with it give the usual entries; nothing where
// that file could not be read. What a shell would expand is left out of account.
std::optional<std::string> grub_default_words(const BootSubject& subject);

// "update-grub"; "grub2-mkconfig -o /boot/grub2/grub.cfg".
std::vector<std::string> grub_config_command(const facts::BootSetup& boot);

}  // namespace headroom::plan
