// SPDX-License-Identifier: Apache-2.0
// Workers that disappear and are started again, of a service whose processes have other parents
// than us: nobody tells how they ended.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "machine/services/process_list.h"
#include "machine/services/service.h"

namespace headroom::machine {

// One thread.
class WorkerWatch {
 public:
  // Tells it who lives, `main` (its pid) among them. Returns those that were gone and whose command
  // line runs again now.
  std::vector<ServiceDeath> look(const std::vector<ListedProcess>& living, std::uint64_t main);

 private:
  using Name = std::pair<std::uint64_t, std::uint64_t>;  // pid and start.
  std::map<Name, std::string> commands_;
  std::vector<std::pair<std::uint64_t, std::string>> missed_;  // pid and command line.
};

// "python3 server.py (pid 4711)", for messages.
std::string process_name(std::uint64_t pid, const std::string& command);

}  // namespace headroom::machine
