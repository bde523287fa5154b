// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "facts/gpu.h"

namespace headroom::facts {
namespace {

void add(std::optional<Bytes>& sum, const std::optional<Bytes>& part) {
  if (part) sum = sum ? *sum + *part : *part;
}

void name(Holder& holder, const Process& process) {
  holder.pid = process.pid;
  holder.command = process.command;
  holder.user = process.user;
  holder.engine = process.membership.engine;
  holder.container = process.membership.container;
  holder.unit = process.membership.unit;
  holder.job = process.membership.job;
}

// A process's own view: the sum over its DRM clients on this GPU that no process before it has
// shown.
std::optional<Holder> from_clients(const Gpu& gpu, const Process& process,
                                   std::set<std::uint64_t>& seen_clients) {
  Holder holder;
  name(holder, process);
  holder.source = {fmt::format("/proc/{}/fdinfo", process.pid), 0, ""};
  bool any = false;
  for (const DrmClient& client : process.clients) {
    const bool own = client.driver == "amdgpu" && client.pdev == gpu.pci;
    if (!own || !seen_clients.insert(client.client_id).second) continue;
    any = true;
    add(holder.vram, client.vram);
    add(holder.gtt, client.gtt);
  }
  return any ? std::optional(holder) : std::nullopt;
}

bool has_pasid(const Process& process, const KfdProcess& kfd) {
  if (!kfd.pasid || *kfd.pasid == 0) return false;
  return std::any_of(process.clients.begin(), process.clients.end(),
                     [&](const DrmClient& client) { return client.pasid == *kfd.pasid; });
}

// The visible process that KFD means. In a container the number alone may be another process's.
const Process* find_process(const std::vector<Process>& visible, const KfdProcess& kfd,
                            bool in_container) {
  for (const Process& process : visible) {
    if (has_pasid(process, kfd)) return &process;
  }
  for (const Process& process : visible) {
    if (process.pid == kfd.pid && (!in_container || process.opens_gpu)) return &process;
  }
  return nullptr;
}

bool in_kfd(const Process& process, const Processes& processes, bool in_container) {
  return std::any_of(processes.kfd.begin(), processes.kfd.end(), [&](const KfdProcess& kfd) {
    return find_process(processes.visible, kfd, in_container) == &process;
  });
}

// Both witnesses may know the same allocation; the larger figure holds it all.
void merge(std::optional<Bytes>& have, const Fact<Bytes>& kfd) {
  if (kfd) have = have ? std::max(*have, *kfd) : *kfd;
}

bool is_nothing(const Fact<Bytes>& used) {
  return used && used->value == 0;
}

}  // namespace

std::vector<Holder> find_holders(const Gpu& gpu, const Processes& processes, bool pool_in_gtt,
                                 bool in_container) {
  std::vector<Holder> holders;
  std::set<std::uint64_t> seen_clients;
  for (const Process& process : processes.visible) {
    // DRM clients name the card, not the partition, which only KFD tells.
    if (gpu.partition && in_kfd(process, processes, in_container)) continue;
    if (auto holder = from_clients(gpu, process, seen_clients)) {
      holders.push_back(*std::move(holder));
    }
  }
  for (const KfdProcess& kfd : processes.kfd) {
    const auto used = gpu.kfd_id ? kfd.vram.find(*gpu.kfd_id) : kfd.vram.end();
    if (used == kfd.vram.end() || is_nothing(used->second)) continue;
    const Process* process = find_process(processes.visible, kfd, in_container);
    const std::uint64_t pid = process != nullptr ? process->pid : kfd.pid;
    auto holder = std::find_if(holders.begin(), holders.end(), [&](const Holder& known) {
      return process != nullptr && known.pid == pid;
    });
    if (holder == holders.end()) {
      holder = holders.insert(holders.end(), Holder{});
      holder->pid = pid;
      holder->visible = process != nullptr;
      holder->whereabouts = Whereabouts::here;
      if (process != nullptr) {
        name(*holder, *process);
      } else {
        holder->whereabouts =
            in_container || !processes.complete ? Whereabouts::outside : Whereabouts::gone;
      }
    }
    holder->in_kfd = true;
    holder->source = used->second.source();
    merge(pool_in_gtt ? holder->gtt : holder->vram, used->second);
  }
  std::stable_sort(holders.begin(), holders.end(), [](const Holder& a, const Holder& b) {
    const auto total = [](const Holder& holder) {
      return (holder.vram ? *holder.vram : Bytes{}) + (holder.gtt ? *holder.gtt : Bytes{});
    };
    return total(a) > total(b);
  });
  return holders;
}

}  // namespace headroom::facts
