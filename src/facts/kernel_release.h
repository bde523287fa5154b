// SPDX-License-Identifier: Apache-2.0
// Which kernel runs, and whether it has a given change. A distribution's kernel carries changes
// that its version does not show, so the answer may be that it cannot be told; that is then said.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "facts/kernel_text.h"
#include "knowledge/advisories.h"

namespace headroom::facts {

struct KernelRelease {
  KernelVersion version{};   // As uname shows it; of Ubuntu's kernels the last part is always 0.
  std::string distribution;  // "ubuntu", "debian", "fedora", "rhel", "proxmox", "suse", "steamos",
                             // "arch"; empty: kernel.org's, or one that leaves no mark.
  std::string flavour;       // Ubuntu's: "generic", "oem", "aws", …
  std::string package;       // Ubuntu's number of the series: "19", or "19.19~24.04.2" if known.
};

// "6.17.0-19-generic", "6.14.0-1018-oem", "6.12.48+deb13-amd64", "6.17.9-300.fc43.x86_64",
// "6.14.11-1-pve" and so on. The mark is the kernel's own: in a container the system around it is
// another one. `signature` is /proc/version_signature, which only Ubuntu has ("Ubuntu
// 6.17.0-19.19~24.04.2-generic 6.17.13"). Nothing for what does not begin with a version.
std::optional<KernelRelease> parse_kernel_release(std::string_view release,
                                                  std::string_view signature = "");

enum class HasFix { no, yes, cannot_tell };

struct FixState {
  HasFix has = HasFix::cannot_tell;
  std::string why;  // A sentence.
};
// `own_driver`: amdgpu is not this kernel's but AMD's DKMS package, whose changes the kernel's
// version says nothing of.
FixState has_fix(const KernelRelease& kernel, const knowledge::KernelFix& fix, bool own_driver);

// since <= version < before; false where either is no version.
bool in_range(const KernelVersion& version, const knowledge::VersionRange& range);

}  // namespace headroom::facts
