// SPDX-License-Identifier: Apache-2.0
// The engines that run containers here, and the programs that read compose files for them. They are
// asked for JSON; each call has an end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "machine/services/container_state.h"
#include "machine/services/running_program.h"

namespace headroom::machine {

// One way to bring up a service of a compose file.
struct ComposeTool {
  std::string engine;                // "docker", "podman".
  std::vector<std::string> compose;  // {"docker", "compose"}.
};

// Where and how engines are called.
struct EngineSurroundings {
  std::string folder;                    // Absolute.
  std::vector<std::string> environment;  // NAME=VALUE, ours.
  std::shared_ptr<OwnCommands> own;      // May be null.
};

// One thread.
class Containers {
 public:
  explicit Containers(EngineSurroundings surroundings) : surroundings_(std::move(surroundings)) {}

  // In this order: `docker compose`, `docker-compose`, `podman compose`, `podman-compose`; at most
  // one of each engine, and only where the engine answers this user. Fails with not_found, and says
  // of each why not.
  Result<std::vector<ComposeTool>> find_tools() const;

  // Every container, running or not, of services of this name, whatever its project.
  Result<std::vector<ContainerState>> of_service(const std::string& engine,
                                                 const std::string& service) const;
  // Fails with not_found where one of them is gone.
  Result<std::vector<ContainerState>> inspect(const std::string& engine,
                                              const std::vector<std::string>& ids,
                                              std::uint64_t timeout_ms) const;
  // Exit codes of its runs that ended since then, oldest first.
  Result<std::vector<int>> ends(const std::string& engine, const std::string& id,
                                std::int64_t since_ms) const;
  // What it wrote since then, both streams in their order.
  Result<std::string> log(const std::string& engine, const std::string& id,
                          std::int64_t since_ms) const;
  // Any other call. Fails with busy where it does not end in time, with io where it does not end
  // with 0: with the error that it names, and nothing else of what it printed.
  Result<CallResult> call(const std::vector<std::string>& argv, std::uint64_t timeout_ms) const;

 private:
  Status answers(const std::vector<std::string>& argv) const;

  EngineSurroundings surroundings_;
};

// The last line that names an error. Lines that repeat a command are left out: they hold the
// container's environment. Empty: there is none.
std::string error_line(const std::string& errors);

}  // namespace headroom::machine
