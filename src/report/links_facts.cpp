// SPDX-License-Identifier: Apache-2.0
#include "report/links_facts.h"

#include <fmt/format.h>

#include "base/text.h"

namespace headroom::report {
namespace {

using facts::Fact;

template <class T, class Convert>
FactRow row(const std::string& gpu, std::string name, const Fact<T>& fact, Convert convert) {
  return {gpu,
          std::move(name),
          fact ? convert(*fact) : "",
          fact ? "" : to_string(fact.missing()),
          fact.source().path,
          fact.source().line};
}

std::string same(const std::string& text) {
  return text;
}
std::string number(std::uint64_t value) {
  return std::to_string(value);
}
std::string lanes(std::uint64_t value) {
  return fmt::format("x{}", value);
}
std::string speed(double value) {
  return fmt::format("{} GT/s", value);
}
std::string amount(Bytes value) {
  return to_string(value);
}
std::string yes(bool is) {
  return is ? "yes" : "no";
}

}  // namespace

std::vector<FactRow> connection_rows(const facts::Gpu& gpu) {
  const facts::Connection& connection = gpu.connection;
  std::vector<FactRow> rows;
  if (connection.hops.empty()) {
    const std::string place = gpu.folder.empty() ? "/sys/bus/pci/devices" : gpu.folder;
    rows.push_back({gpu.pci, "PCIe link", "", to_string(connection.no_hops), place, 0});
  }
  for (const facts::PcieHop& hop : connection.hops) {
    rows.push_back(row(gpu.pci, "PCIe width at " + hop.lower, hop.width, lanes));
    rows.push_back(row(gpu.pci, "PCIe width possible there", hop.possible_width, lanes));
    rows.push_back(row(gpu.pci, "PCIe speed at " + hop.lower, hop.speed, speed));
    rows.push_back(row(gpu.pci, "PCIe speed possible there", hop.possible_speed, speed));
  }
  rows.push_back(row(gpu.pci, "NUMA node", connection.numa_node, number));
  rows.push_back(row(gpu.pci, "IOMMU", connection.iommu,
                     [](facts::IommuMode mode) { return std::string(to_string(mode)); }));
  rows.push_back(row(gpu.pci, "ROCr index", connection.rocr_index, number));
  rows.push_back(row(gpu.pci, "HIP index", connection.hip_index, number));
  return rows;
}

std::vector<FactRow> interconnect_rows(const facts::Facts& facts) {
  std::vector<FactRow> rows;
  if (facts.gpus.empty()) return rows;
  rows.push_back(row("", "/dev/shm", facts.interconnect.shm, amount));
  rows.push_back(row("", "locked memory", facts.interconnect.memlock, amount));
  rows.push_back(row("", "InfiniBand", facts.interconnect.infiniband, yes));
  for (const facts::Mask& mask : facts.masks) {
    const std::string value = mask.value.empty() ? "(set, and empty)" : mask.value;
    rows.push_back({"", mask.variable, value, "", mask.source.path, mask.source.line});
  }
  for (const facts::PortBetween& port : facts.interconnect.ports) {
    rows.push_back(row("", "ACS redirects at " + port.pci, port.redirects, yes));
  }
  return rows;
}

std::vector<FactRow> python_rows(const facts::PythonStack& python) {
  const auto list = [](const std::vector<std::string>& words) { return join(words, " "); };
  std::vector<FactRow> rows = {row("", "Python", python.interpreter, same),
                               row("", "Python version", python.version, same)};
  if (!python.torch_folder.empty()) {
    const facts::Torch& torch = python.torch;
    rows.push_back(row("", "torch", torch.version, same));
    rows.push_back(row("", "torch's build", torch.kind,
                       [](facts::TorchKind kind) { return std::string(to_string(kind)); }));
    rows.push_back(row("", "torch's HIP", torch.hip, same));
    rows.push_back(row("", "torch's CUDA", torch.cuda, same));
    rows.push_back(row("", "torch's targets", torch.targets, list));
    rows.push_back(row("", "torch's attention", torch.attention, list));
  }
  for (const facts::Package& package : python.packages) {
    if (package.name != "torch") {
      rows.push_back({"", package.name, package.version, "", package.path, 0});
    }
  }
  return rows;
}

}  // namespace headroom::report
