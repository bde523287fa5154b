// SPDX-License-Identifier: Apache-2.0
// What Docker and Podman say of containers as JSON, as far as deploy needs it. The environment,
// which holds people's passwords, is not looked at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace headroom::machine {

// docker-inspect(1): ContainerState and HostConfig of Docker's API. podman-inspect(1) has the same.
struct ContainerState {
  std::string id, name;
  // "created", "running", "paused", "restarting", "removing", "exited", "dead"; Podman also
  // "initialized", "stopping", "stopped".
  std::string status;
  std::string started_at;  // Tells one run from the next.
  std::uint64_t pid = 0;   // Of its first process, as the engine's system counts; 0: none.
  int exit_code = 0;       // Of the last run; has a meaning while none goes on.
  bool oom_killed = false;
  std::uint64_t restarts = 0;         // By its policy.
  std::string health;                 // "starting", "healthy", "unhealthy"; empty: not checked.
  std::string problem;                // Why the engine could not start it.
  std::optional<Bytes> memory_limit;  // Nothing: none.
  std::string restart_policy;         // "", "no", "always", "unless-stopped", "on-failure".
  std::uint64_t most_restarts = 0;    // Of "on-failure"; 0: no end.
  // Labels of compose. Files and folder as compose was given them.
  std::string project, folder, files;
  bool once = false;  // Of `compose run`, which is no part of the service.
};

bool is_up(const ContainerState& state);  // "running" and its kin: a process lives.
// Whether its engine is to start it again after this end.
bool is_to_restart(const ContainerState& state);

// What `inspect` prints. Fails with invalid where it is none.
Result<std::vector<ContainerState>> parse_containers(std::string_view text);

// Exit codes of the runs that ended, oldest first, from what `events` prints: a JSON object a line,
// in the words of Docker's API or of podman-events(1). What is no such end is passed over.
std::vector<int> parse_ends(std::string_view text);

}  // namespace headroom::machine
