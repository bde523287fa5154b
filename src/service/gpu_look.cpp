// SPDX-License-Identifier: Apache-2.0
#include "service/gpu_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "facts/fdinfo.h"

namespace headroom::service {
namespace {

constexpr std::string_view kfd_processes = "/sys/class/kfd/kfd/proc";

}  // namespace

std::map<std::string, std::uint64_t> parse_engine_times(std::string_view fdinfo) {
  constexpr std::string_view start = "drm-engine-";
  std::map<std::string, std::uint64_t> times;
  for (const std::string_view line : split_lines(fdinfo)) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with(start) || colon == std::string_view::npos) continue;
    const auto words = split_words(line.substr(colon + 1));
    if (words.size() != 2 || words[1] != "ns") continue;
    if (const auto ns = parse_u64(words[0]))
      times[std::string(line.substr(start.size(), colon - start.size()))] = *ns;
  }
  return times;
}

void GpuLook::look(const std::vector<std::uint64_t>& pids) {
  look_at_kfd(pids);
  look_at_clients(pids);
}

// KFD: amdgpu/../amdkfd/kfd_process.c, files "vram_GPUID" in bytes and "sdma_GPUID" in
// microseconds.
Bytes GpuLook::kfd_memory_of(std::uint64_t pid) {
  const std::string folder = fmt::format("{}/{}", kfd_processes, pid);
  Bytes memory;
  const auto names = files_.list(folder);
  for (const std::string& name : names ? *names : std::vector<std::string>{}) {
    const bool is_vram = name.starts_with("vram_"), is_copy = name.starts_with("sdma_");
    if (!is_vram && !is_copy) continue;
    const auto text = files_.read(folder + "/" + name);
    const auto value = text ? parse_u64(trim(*text)) : std::nullopt;
    if (value && is_vram) memory += Bytes{*value};
    if (value && is_copy) {
      auto& highest = busy_ns_[{fmt::format("kfd {}", pid), name}];
      highest = std::max(highest, *value * 1000);
    }
  }
  return memory;
}

void GpuLook::look_at_kfd(const std::vector<std::uint64_t>& pids) {
  const auto names = files_.list(kfd_processes);
  if (!names && names.error().code == Errc::not_found) return;  // No compute driver, no use of it.
  if (!names) {
    kfd_missing_ = names.error().message;
    return;
  }
  Bytes memory;
  for (const std::uint64_t pid : pids) {
    if (std::find(names->begin(), names->end(), std::to_string(pid)) == names->end()) continue;
    on_kfd_ = true;
    memory += kfd_memory_of(pid);
  }
  kfd_vram_ = std::max(kfd_vram_, memory);
}

void GpuLook::look_at_clients(const std::vector<std::uint64_t>& pids) {
  std::set<std::pair<std::string, std::uint64_t>> seen;
  Bytes vram, gtt;
  for (const std::uint64_t pid : pids) {
    const std::string folder = fmt::format("/proc/{}/fdinfo", pid);
    const auto names = files_.list(folder);
    for (const std::string& name : names ? *names : std::vector<std::string>{}) {
      const auto text = files_.read(folder + "/" + name);
      const auto client = text ? facts::parse_fdinfo(*text) : std::nullopt;
      if (!client || !seen.insert({client->pdev, client->client_id}).second) continue;
      saw_clients_ = true;
      vram += client->vram.value_or(Bytes{});
      gtt += client->gtt.value_or(Bytes{});
      for (const auto& [engine, ns] : parse_engine_times(*text)) {
        auto& highest = busy_ns_[{fmt::format("{} {}", client->pdev, client->client_id), engine}];
        highest = std::max(highest, ns);
      }
    }
  }
  drm_vram_ = std::max(drm_vram_, vram);
  gtt_ = std::max(gtt_, gtt);
}

deploy::GpuUse GpuLook::use() const {
  deploy::GpuUse use;
  if (on_kfd_) {
    use.on_kfd = true;
  } else if (!kfd_missing_.empty()) {
    use.missing.push_back("KFD's processes: " + kfd_missing_);
  } else if (in_container_) {
    use.missing.emplace_back(
        "KFD's processes: they are listed by the host's numbers, outside this container");
  } else {
    use.on_kfd = false;
  }
  use.vram = std::max(kfd_vram_, drm_vram_);
  use.gtt = gtt_;
  if (!saw_clients_ && busy_ns_.empty()) {
    if (on_kfd_) use.missing.emplace_back("the GPU's busy time: the service has no DRM client");
    return use;
  }
  std::uint64_t busy_ns = 0;
  for (const auto& [counter, ns] : busy_ns_) busy_ns += ns;
  use.busy_ms = busy_ns / 1'000'000;
  return use;
}

}  // namespace headroom::service
