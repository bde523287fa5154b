// SPDX-License-Identifier: Apache-2.0
// What a log shows of the way to the GPU: the device nodes, who may open them, which side of a
// container a line was written on, and on what kind of system. Several rules look at it.
#pragma once

#include <string>
#include <vector>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// Some program found no GPU, or could not start ROCm's runtime; nullptr if none says so.
const logs::Observation* gpu_not_seen(const LogSubject& subject);

// Which one, in the words of its own command ("kubernetes", "podman"), or "container" where only
// that is known. Empty outside of any.
std::string container_engine(const Scene& scene);
bool is_rootless(const LogSubject& subject);

// The container's command whose output this line is part of; nullptr if it is none's.
const logs::Observation* container_command_of(const LogSubject& subject,
                                              const logs::Observation& line);

// The line that shows /dev/kfd to be absent; the engine's own complaint does not count.
const logs::Observation* kfd_absent(const LogSubject& subject);

enum class Platform { native, wsl, windows, mac, desktop_vm };
struct PlatformSign {
  Platform platform = Platform::native;
  Evidence evidence;  // Without a meaning for native.
};
PlatformSign platform_of(const LogSubject& subject);

// The only one in a log, or the last before it: `ls -l /dev/kfd`, and the groups of who asked.
struct KfdNode {
  const logs::Observation* line = nullptr;
  std::string owner, group, mode;
  bool everybody = false;  // May open it.
};
KfdNode kfd_node(const LogSubject& subject);

struct UserGroups {
  const logs::Observation* line = nullptr;
  std::vector<std::string> names;
  bool root = false;
};
UserGroups user_groups(const LogSubject& subject);

// "Radeon RX 7900 XTX (gfx1100)", or "the GPU".
std::string gpu_title(const Scene& scene);

}  // namespace headroom::findings
