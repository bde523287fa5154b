// SPDX-License-Identifier: Apache-2.0
#include "machine/services/worker_watch.h"

#include <fmt/format.h>

#include <algorithm>

namespace headroom::machine {

std::string process_name(std::uint64_t pid, const std::string& command) {
  constexpr std::size_t enough = 80;
  return fmt::format("{} (pid {})", command.substr(0, enough), pid);
}

std::vector<ServiceDeath> WorkerWatch::look(const std::vector<ListedProcess>& living,
                                            std::uint64_t main) {
  std::map<Name, std::string> now;
  std::vector<Name> fresh;
  for (const ListedProcess& one : living) {
    const Name name{one.pid, one.started};
    if (one.pid == main || one.state == 'Z') continue;
    const auto known = commands_.find(name);
    if (known == commands_.end()) fresh.push_back(name);
    now[name] = known == commands_.end() ? command_line_of(one.pid, one.name) : known->second;
  }
  for (const auto& [name, command] : commands_) {
    if (!now.contains(name)) missed_.emplace_back(name.first, command);
  }
  std::vector<ServiceDeath> replaced;
  for (const Name& name : fresh) {
    const auto same = std::find_if(missed_.begin(), missed_.end(), [&now, &name](const auto& one) {
      return one.second == now[name];
    });
    if (same == missed_.end()) continue;
    replaced.push_back(
        {unknown_code, std::nullopt, false,
         process_name(same->first, same->second) + ", which its parent started again,"});
    missed_.erase(same);
  }
  constexpr std::size_t most = 64;
  if (missed_.size() > most) missed_.erase(missed_.begin());
  commands_ = std::move(now);
  return replaced;
}

}  // namespace headroom::machine
