// SPDX-License-Identifier: Apache-2.0
#include "probe/probe.h"

#include "probe/read_gpus.h"
#include "probe/read_machine.h"
#include "probe/read_processes.h"

namespace headroom::probe {

Result<facts::Facts> probe(const machine::Files& files, const knowledge::GpuTables& tables) {
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
  if (!topology.nodes.empty() && !facts.looked) facts.looked = topology.present;
  facts.other_gpus = read_other_gpus(files, devices.gpus);
  facts.gpus = join_gpus(devices.gpus, topology.nodes, topology.no_node, tables);
  // Only a GPU has holders; without one, a walk through every process would be for nothing.
  complete_gpus(facts, facts.gpus.empty() ? facts::Processes{} : read_processes(files), tables);
  return facts;
}

}  // namespace headroom::probe
