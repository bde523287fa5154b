// SPDX-License-Identifier: Apache-2.0
// What a log shows about access to the GPU: the device nodes, who may open them, whether a line was
// written inside or outside a container, and on what kind of system. Several rules use it.
#pragma once

#include <string>
#include <vector>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// The line in which a program says that it found no GPU or could not start ROCm's runtime; nullptr
// if there is none.
const logs::Observation* gpu_not_seen(const LogSubject& subject);

// Returns the line in which PyTorch says that it sees no GPU, also if that is the answer below the
// question, or nullptr.
const logs::Observation* torch_sees_none(const LogSubject& subject);

// Which container engine, by the name of its command ("kubernetes", "podman"), or "container" if
// only that is known. Empty outside of containers.
std::string container_engine(const Scene& scene);
bool is_rootless(const LogSubject& subject);
// Whether the container has all of the host's /dev: toolbox and distrobox start theirs with
// --volume /dev:/dev (containers/toolbox: src/cmd/create.go; 89luca89/distrobox: distrobox-create).
bool shares_host_devices(const Scene& scene);

// The container command whose output the line is part of; nullptr if there is none.
const logs::Observation* container_command_of(const LogSubject& subject,
                                              const logs::Observation& line);

// The command that starts a container and passes /dev/kfd to it, or the line of LXC's configuration
// that does; nullptr if there is none.
const logs::Observation* passes_kfd(const LogSubject& subject);

// The line that shows /dev/kfd to be absent; the engine's own complaint does not count.
const logs::Observation* kfd_absent(const LogSubject& subject);

enum class Platform { native, wsl, windows, mac, desktop_vm };
struct PlatformSign {
  Platform platform = Platform::native;
  Evidence evidence;  // Its meaning is empty for native.
};
PlatformSign platform_of(const LogSubject& subject);

// What the last `ls -l /dev/kfd` in the log showed; `line` is nullptr if there is none.
struct KfdNode {
  const logs::Observation* line = nullptr;
  std::string owner, group, mode;
  bool everybody = false;  // Everybody may open it.
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
