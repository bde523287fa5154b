// SPDX-License-Identifier: Apache-2.0
#include "probe/probe.h"

#include <algorithm>

#include "facts/not_passed.h"
#include "machine/live_answers.h"
#include "probe/read_environment.h"
#include "probe/read_gpus.h"
#include "probe/read_initramfs.h"
#include "probe/read_links.h"
#include "probe/read_machine.h"
#include "probe/read_processes.h"
#include "probe/read_python.h"
#include "probe/read_text.h"
#include "probe/read_wsl.h"

namespace headroom::probe {

namespace {

void ask_kfd(const machine::Files& files, std::vector<facts::Gpu>& gpus) {
  std::vector<std::uint64_t> ids;
  for (facts::Gpu& gpu : gpus) {
    gpu.kfd_free = gpu.kfd_id.known() ? facts::Fact<Bytes>() : gpu.kfd_id.absent<Bytes>();
    if (gpu.asleep()) {
      gpu.kfd_free = {facts::Missing{facts::Why::asleep, ""}, gpu.runtime_status.source()};
    } else if (gpu.kfd_id) {
      ids.push_back(*gpu.kfd_id);
    }
  }
  if (ids.empty()) return;
  const std::string what = "AMDKFD_IOC_AVAILABLE_MEMORY of /dev/kfd";
  const auto text = read_answer(what, [&] { return machine::read_kfd_free(files, ids); });
  const auto free = facts::parse_kfd_free(text);
  for (facts::Gpu& gpu : gpus) {
    if (!gpu.kfd_id || gpu.asleep()) continue;
    const auto found = free.find(*gpu.kfd_id);
    if (found != free.end()) {
      gpu.kfd_free = found->second;
    } else {
      gpu.kfd_free = {text ? facts::Missing{} : text.missing(), text.source()};
    }
  }
}

}  // namespace

Result<facts::Facts> probe(const machine::Files& files, const knowledge::GpuTables& tables,
                           const Surroundings& surroundings) {
  if (!files.exists("/proc") && !files.exists("/sys")) {
    return Error{
        Errc::not_found, "expected a machine with /proc or /sys, found neither",
        "headroom check --root FOLDER, where FOLDER mirrors a machine's /sys, /proc and /etc"};
  }
  facts::Facts facts;
  facts.machine = read_machine(files);
  const Devices devices = read_devices(files);
  const Topology topology = read_topology(files);
  facts.looked = devices.looked;
  facts.kfd_present = topology.present;
  facts.kfd_nodes_withheld = topology.withheld;
  facts.kfd_nodes_unread = topology.unread;
  const bool any_in_kfd = std::any_of(topology.nodes.begin(), topology.nodes.end(),
                                      [](const facts::KfdNode& node) { return node.is_gpu(); });
  if (any_in_kfd && !facts.looked) facts.looked = topology.present;
  facts.other_gpus = read_other_gpus(files, devices.gpus);
  facts.gpus = join_gpus(devices.gpus, topology.nodes, topology.no_node, tables);
  mark_not_passed(facts);
  const Shell shell = read_shell(files, facts.machine, surroundings, tables.knobs);
  facts.masks = facts::find_masks(shell.variables(), shell.text.source());
  read_links(files, topology, facts);
  facts.python = read_python(files, {surroundings.python, shell.get("PATH"), shell.get("HOME"),
                                     shell.get("LD_LIBRARY_PATH")});
  facts.wsl = read_wsl(files, facts.machine, facts.python);
  // Without a GPU, going through every process would be useless. This comes before KFD is asked,
  // because asking makes this process one of KFD's.
  const auto processes = facts.gpus.empty() ? facts::Processes{} : read_processes(files);
  if (surroundings.ask_kfd) ask_kfd(files, facts.gpus);
  complete_gpus(facts, processes, tables);
  facts.machine.initramfs_copies = read_initramfs_copies(files, facts);
  facts.environment = read_environment(files, {facts.machine, processes, shell}, tables.knobs);
  return facts;
}

}  // namespace headroom::probe
