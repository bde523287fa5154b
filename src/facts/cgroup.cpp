// SPDX-License-Identifier: Apache-2.0
#include "facts/cgroup.h"

#include <array>
#include <utility>

#include "base/text.h"

namespace headroom::facts {
namespace {

constexpr std::size_t short_id = 12;  // What container engines print.

bool is_container_id(std::string_view text) {
  return text.size() >= 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string_view without(std::string_view text, std::string_view prefix, std::string_view suffix) {
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  if (text.ends_with(suffix)) text.remove_suffix(suffix.size());
  return text;
}

constexpr std::string_view slurm_job = "slurm job ";

// Slurm names the job's folder job_ID, in cgroup v1 and v2; Kubernetes the pod's by its uid
// (kubepods-burstable-pod3f1c….slice, or pod3f1c… below kubepods).
void read_job(std::string_view folder, Membership& membership) {
  const std::string_view number = without(folder, "job_", "");
  if (folder.starts_with("job_") && parse_u64(number)) {
    membership.job = std::string(slurm_job).append(number);
  }
  const std::size_t pod = folder.rfind("pod");
  if (membership.engine != "kubernetes" || pod == std::string_view::npos) return;
  const std::string_view uid = without(folder.substr(pod + 3), "", ".slice");
  const bool hexadecimal = uid.find_first_not_of("0123456789abcdef-_") == std::string_view::npos;
  if (uid.size() >= 32 && hexadecimal) membership.job = "pod " + std::string(uid.substr(0, 8));
}

// One folder of a cgroup path: docker-<id>.scope, libpod-<id>.scope, cri-containerd-<id>.scope, a
// bare id below docker/ or kubepods/, lxc.payload.<name>, a systemd unit.
void read_folder(std::string_view folder, std::string_view above, Membership& membership) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> scopes = {
      {{"docker-", "docker"},
       {"libpod-", "podman"},
       {"cri-containerd-", "containerd"},
       {"crio-", "cri-o"},
       {"nerdctl-", "containerd"}}};
  const auto found = [&membership](std::string_view engine, std::string_view container) {
    if (membership.engine != "kubernetes") membership.engine = engine;
    membership.container = container.substr(0, is_container_id(container) ? short_id : 64);
  };
  if (folder.starts_with("kubepods")) membership.engine = "kubernetes";
  for (const auto& [prefix, engine] : scopes) {
    const std::string_view id = without(folder, prefix, ".scope");
    if (folder.starts_with(prefix) && is_container_id(id)) found(engine, id);
  }
  if (folder.starts_with("lxc.payload.")) found("lxc", without(folder, "lxc.payload.", ""));
  if (above == "lxc") found("lxc", folder);
  if (is_container_id(folder)) found(above == "docker" ? "docker" : "container", folder);
  read_job(folder, membership);
  const bool unit = folder.ends_with(".service") || folder.ends_with(".scope");
  if (unit && !folder.starts_with("user@")) membership.unit = folder;
}

}  // namespace

CgroupPaths parse_cgroup_paths(std::string_view text) {
  CgroupPaths paths;
  for (const std::string_view line : split_lines(text)) {
    const auto parts = split(line, ':');
    if (parts.size() < 3) continue;
    const std::string_view path = line.substr(parts[0].size() + parts[1].size() + 2);
    if (parts[0] == "0" && parts[1].empty()) paths.v2 = path;
    for (const std::string_view controller : split(parts[1], ',')) {
      if (controller == "memory") paths.memory_v1 = path;
    }
  }
  return paths;
}

std::string_view slurm_number(std::string_view job) {
  return job.starts_with(slurm_job) ? job.substr(slurm_job.size()) : std::string_view();
}

Membership parse_membership(std::string_view cgroup_text) {
  const CgroupPaths paths = parse_cgroup_paths(cgroup_text);
  Membership membership;
  std::string_view above;
  for (const std::string_view folder :
       split(paths.v2.size() > 1 ? paths.v2 : paths.memory_v1, '/')) {
    if (folder.empty()) continue;
    read_folder(folder, above, membership);
    above = folder;
  }
  return membership;
}

Fact<Bytes> parse_memory_limit(const Text& text) {
  constexpr std::uint64_t v1_unlimited = std::uint64_t{1}
                                         << 62U;  // PAGE_COUNTER_MAX, rounded down.
  const Text word = parse_word(text);
  if (word && *word == "max") return {Missing{Why::not_limited, ""}, word.source()};
  auto limit = parse_byte_count(text);
  if (limit && limit->value >= v1_unlimited) return {Missing{Why::not_limited, ""}, limit.source()};
  return limit;
}

Fact<Bytes> parse_dmem(const Text& text, std::string_view pci) {
  if (!text) return text.absent<Bytes>();
  const std::string region = "drm/" + std::string(pci) + "/vram";
  int number = 0;
  for (const std::string_view line : split_lines(*text)) {
    ++number;
    const auto words = split_words(line);
    if (words.size() != 2 || !words[0].starts_with(region)) continue;
    const Source source{text.source().path, number, std::string(line)};
    if (words[1] == "max") return {Missing{Why::not_limited, ""}, source};
    const auto bytes = parse_u64(words[1]);
    if (!bytes) return {Missing{Why::not_understood, std::string(line)}, source};
    return {Bytes{*bytes}, source};
  }
  return {Missing{Why::not_limited, "no entry for this device"}, text.source()};
}

}  // namespace headroom::facts
