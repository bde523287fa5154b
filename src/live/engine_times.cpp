// SPDX-License-Identifier: Apache-2.0
#include "live/engine_times.h"

namespace headroom::live {

EngineTimes::Shares EngineTimes::look(const ByProcess& now_read, std::chrono::nanoseconds now) {
  Shares shares;
  std::map<std::pair<std::string, std::uint64_t>, std::uint64_t> current;
  const double passed = when_ ? static_cast<double>((now - *when_).count()) : 0;
  for (const auto& [pid, clients] : now_read) {
    for (const facts::ClientWork& client : clients) {
      const std::pair key(client.pdev, client.client_id);
      current[key] = client.engines_ns;
      const auto before = last_.find(key);
      if (before == last_.end() || passed <= 0 || client.engines_ns < before->second) continue;
      shares[pid][client.pdev] += static_cast<double>(client.engines_ns - before->second) / passed;
    }
  }
  last_ = std::move(current);
  when_ = now;
  return shares;
}

}  // namespace headroom::live
