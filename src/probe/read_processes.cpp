// SPDX-License-Identifier: Apache-2.0
#include "probe/read_processes.h"

#include <fmt/format.h>

#include "base/text.h"
#include "facts/driver_answers.h"
#include "probe/read_text.h"

namespace headroom::probe {
namespace {

using facts::KfdProcess;
using facts::Process;
using machine::Files;

bool is_gpu_node(std::string_view target) {
  return target.starts_with("/dev/dri/") || target == "/dev/kfd";
}

// comm is cut to 15 characters, so the program's own name is used if it can be read. Arguments may
// hold secrets and are not kept; programs that overwrite them with a title put blanks between the
// words.
std::string read_command(const Files& files, const std::string& folder) {
  const auto comm = files.read(folder + "/comm");
  std::string name(comm ? trim(*comm) : "");
  if (comm && name.size() < 15) return name;
  const auto cmdline = files.read(folder + "/cmdline");
  if (!cmdline || cmdline->empty()) return name;
  const std::string program =
      cmdline->substr(0, cmdline->find_first_of(std::string_view("\0 ", 2)));
  return program.empty() ? name : program.substr(program.rfind('/') + 1);
}

// Finds the descriptors that may be DRM clients: those whose link leads to a GPU, or all of them if
// links cannot be seen (captures leave them out).
std::vector<std::string> find_descriptors(const Files& files, const std::string& folder,
                                          Process& process, bool& complete) {
  std::vector<std::string> candidates;
  const auto descriptors = files.list_links(folder + "/fd");
  if (!descriptors) {
    if (descriptors.error().code == Errc::no_permission) complete = false;
    const auto infos = files.list(folder + "/fdinfo");
    return infos ? *infos : candidates;
  }
  for (const machine::Link& fd : *descriptors) {
    if (!is_gpu_node(fd.target)) continue;
    process.opens_gpu = true;
    if (fd.target != "/dev/kfd") candidates.push_back(fd.name);
  }
  return candidates;
}

// Reads what one process has open on GPUs; its name is read only if that is anything.
Process read_process(const Files& files, std::uint64_t pid, bool& complete) {
  const std::string folder = fmt::format("/proc/{}", pid);
  Process process;
  process.pid = pid;
  for (const std::string& fd : find_descriptors(files, folder, process, complete)) {
    const auto info = files.read(folder + "/fdinfo/" + fd);
    auto client = info ? facts::parse_fdinfo(*info) : std::nullopt;
    if (client) process.clients.push_back(*std::move(client));
  }
  if (!process.clients.empty()) process.opens_gpu = true;
  return process;
}

// Other users' processes may be left out of /proc altogether (proc(5), hidepid).
bool hides_processes(const Files& files) {
  const auto mounts = files.read("/proc/mounts");
  if (!mounts) return false;
  for (const std::string_view line : split_lines(*mounts)) {
    const auto fields = split_words(line);
    const bool proc = fields.size() >= 4 && fields[1] == "/proc";
    if (proc && fields[3].find("hidepid=") != std::string_view::npos &&
        fields[3].find("hidepid=0") == std::string_view::npos &&
        fields[3].find("hidepid=off") == std::string_view::npos) {
      return true;
    }
  }
  return false;
}

// "Uid:  1000  1000 …" of /proc/PID/status: the real one comes first.
std::string read_user(const Files& files, const std::string& folder, const facts::Text& users) {
  const auto line = facts::find_line(read_text(files, folder + "/status"), "Uid");
  const auto words = line ? split_words(*line) : std::vector<std::string_view>{};
  const auto uid = words.empty() ? std::nullopt : parse_u64(words.front());
  if (!uid) return "";
  const auto name = facts::find_name_of_id(users, *uid);
  return name ? *name : std::to_string(*uid);
}

void name_process(const Files& files, const facts::Text& users, Process& process) {
  const std::string folder = fmt::format("/proc/{}", process.pid);
  process.command = read_command(files, folder);
  process.user = read_user(files, folder, users);
  if (const auto cgroup = files.read(folder + "/cgroup")) {
    process.membership = facts::parse_membership(*cgroup);
  }
}

std::vector<KfdProcess> read_kfd_processes(const Files& files) {
  const Folder kfd = open_folder(files, "/sys/class/kfd/kfd");
  std::vector<KfdProcess> processes;
  const auto pids = files.list(kfd.real + "/proc");
  for (const std::string& name : pids ? *pids : std::vector<std::string>{}) {
    const auto pid = parse_u64(name);
    if (!pid) continue;
    KfdProcess process;
    process.pid = *pid;
    const std::string own = "proc/" + name;
    process.pasid = facts::parse_number(read_text(files, kfd, own + "/pasid"));
    const auto entries = files.list(kfd.real + "/" + own);
    for (const std::string& entry : entries ? *entries : std::vector<std::string>{}) {
      const auto gpu = entry.starts_with("vram_") ? parse_u64(entry.substr(5)) : std::nullopt;
      if (gpu)
        process.vram[*gpu] = facts::parse_byte_count(read_text(files, kfd, own + "/" + entry));
    }
    processes.push_back(std::move(process));
  }
  return processes;
}

}  // namespace

std::vector<std::string> read_client_texts(const Files& files, std::uint64_t pid) {
  const std::string folder = fmt::format("/proc/{}", pid);
  Process process;
  bool complete = true;
  std::vector<std::string> texts;
  for (const std::string& fd : find_descriptors(files, folder, process, complete)) {
    auto info = files.read(folder + "/fdinfo/" + fd);
    if (info) texts.push_back(*std::move(info));
  }
  return texts;
}

facts::Processes read_processes_of(const Files& files, const std::vector<std::uint64_t>& pids) {
  facts::Processes processes;
  processes.kfd = read_kfd_processes(files);
  processes.complete = true;
  for (const std::uint64_t pid : pids)
    processes.visible.push_back(read_process(files, pid, processes.complete));
  return processes;
}

facts::Processes read_processes(const Files& files) {
  facts::Processes processes;
  processes.kfd = read_kfd_processes(files);
  const auto pids = files.list("/proc");
  bool complete = !hides_processes(files);
  bool any = false;
  facts::Text users;  // Read once, and only if a user has to be named.
  for (const std::string& name : pids ? *pids : std::vector<std::string>{}) {
    const auto pid = parse_u64(name);
    if (!pid) continue;
    any = true;
    Process process = read_process(files, *pid, complete);
    bool in_kfd = false;
    for (const KfdProcess& kfd : processes.kfd) in_kfd = in_kfd || kfd.pid == *pid;
    if (!process.opens_gpu && !in_kfd) continue;
    if (processes.visible.empty()) users = read_text(files, "/etc/passwd");
    name_process(files, users, process);
    processes.visible.push_back(std::move(process));
  }
  processes.complete = complete && any;
  return processes;
}

}  // namespace headroom::probe
