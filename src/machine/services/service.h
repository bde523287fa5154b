// SPDX-License-Identifier: Apache-2.0
// A service of this machine, whoever manages it: systemd, Podman, Docker or plain commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace headroom::machine {

inline constexpr int unknown_code = -1;

// A process of it that ended though nobody asked it to.
struct ServiceDeath {
  int code = 0;  // 128 + signal where one ended it; unknown_code where only its parent knows.
  std::optional<int> signal;
  bool main = true;  // Else a worker below it.
  std::string what;  // "python3 server.py (pid 4711)".
};

struct ServiceSample {
  bool running = true;               // Its main process lives.
  bool will_restart = false;         // Where it does not: its manager is about to start it again.
  std::string main;                  // Tells one main process from the next.
  std::vector<ServiceDeath> deaths;  // Since the sample before.
  // Workers that are gone and were started again by their parent, who alone knows why. A failed
  // request beside it says that they crashed.
  std::vector<ServiceDeath> replaced;
  // Processes that a memory limit ended since observe(): by the control group's count, or that died
  // with their address space full.
  std::uint64_t oom_kills = 0;
  std::uint64_t core_dumps = 0;  // Since observe().
  std::optional<Bytes> memory, memory_limit;
  std::uint64_t processor_ms = 0;
  std::vector<std::uint64_t> pids;
};

struct ServiceStatus {
  enum class State : std::uint8_t { stopped, running, failing };
  State state = State::stopped;
  std::string detail;
};

// One thread. Nothing here asks before it acts: only `deploy --apply` calls start() and stop().
class Service {
 public:
  Service() = default;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  virtual ~Service() = default;

  virtual Result<ServiceStatus> status() = 0;
  // Makes the manager read its files anew, and starts it; it need not be healthy yet. An error says
  // why it was not started.
  virtual Status start(std::uint64_t timeout_ms) = 0;
  // Until no process of it is left. SIGKILL for what is left after `kill_after_ms`; nothing: its
  // own time-out.
  virtual Status stop(std::optional<std::uint64_t> kill_after_ms) = 0;
  // What happens from here on counts; call it right before start().
  virtual void observe() = 0;
  virtual ServiceSample sample() = 0;
  // What it wrote since observe().
  virtual Result<std::string> log() = 0;
  // What a person types to start it.
  virtual std::string start_command() const = 0;
};

}  // namespace headroom::machine
