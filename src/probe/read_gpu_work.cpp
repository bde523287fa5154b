// SPDX-License-Identifier: Apache-2.0
#include "probe/read_gpu_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "probe/read_processes.h"
#include "probe/read_text.h"

namespace headroom::probe {
namespace {

using machine::Files;

constexpr const char* kfd_processes = "/sys/class/kfd/kfd/proc";

// amdkfd/kfd_process.c: sdma_GPUID is in microseconds.
std::uint64_t read_sdma(const Files& files, std::uint64_t pid) {
  const std::string folder = fmt::format("{}/{}", kfd_processes, pid);
  const auto entries = files.list(folder);
  std::uint64_t sum = 0;
  for (const std::string& entry : entries ? *entries : std::vector<std::string>{}) {
    if (!entry.starts_with("sdma_")) continue;
    const auto number = facts::parse_number(read_text(files, folder + "/" + entry));
    if (number) sum += *number;
  }
  return sum;
}

std::optional<std::uint64_t> read_busiest(const Files& files,
                                          const std::vector<std::string>& folders) {
  std::optional<std::uint64_t> busiest;
  for (const std::string& folder : folders) {
    const auto busy = facts::parse_number(read_text(files, folder + "/gpu_busy_percent"));
    if (busy) busiest = std::max(busiest.value_or(0), *busy);
  }
  return busiest;
}

}  // namespace

std::vector<std::uint64_t> find_in_kfd(const Files& files, const std::vector<std::uint64_t>& pids) {
  const auto names = files.list(kfd_processes);
  std::vector<std::uint64_t> found;
  for (const std::string& name : names ? *names : std::vector<std::string>{}) {
    const auto pid = parse_u64(name);
    if (pid && std::find(pids.begin(), pids.end(), *pid) != pids.end()) found.push_back(*pid);
  }
  return found;
}

GpuWork read_gpu_work(const Files& files, const std::vector<std::uint64_t>& pids,
                      const std::vector<std::string>& folders) {
  GpuWork work;
  std::set<std::pair<std::string, std::uint64_t>> seen;
  for (const std::uint64_t pid : pids) {
    for (const std::string& text : read_client_texts(files, pid)) {
      auto client = facts::parse_client_work(text);
      if (client && seen.emplace(client->pdev, client->client_id).second)
        work.clients.push_back(*std::move(client));
    }
  }
  const auto in_kfd = find_in_kfd(files, pids);
  for (const std::uint64_t pid : in_kfd) work.sdma_us += read_sdma(files, pid);
  if (!in_kfd.empty()) work.busy_percent = read_busiest(files, folders);
  return work;
}

}  // namespace headroom::probe
