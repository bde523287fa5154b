// SPDX-License-Identifier: Apache-2.0
#include "report/links_text.h"

#include <fmt/format.h>

#include <vector>

#include "facts/peers.h"

namespace headroom::report {
namespace {

using Row = std::vector<std::string>;

std::string index_words(const facts::Fact<std::uint64_t>& index) {
  if (index) return std::to_string(*index);
  return facts::is_hidden(index) ? "hidden" : "-";
}

std::string number_words(const facts::Fact<std::uint64_t>& number) {
  return number ? std::to_string(*number) : "-";
}

std::string pair_words(const facts::Facts& facts, const facts::Gpu& a, const facts::Gpu& b) {
  if (&a == &b) return ".";
  for (const facts::PeerLink& link : facts.interconnect.peers) {
    const bool same =
        (link.from == a.pci && link.to == b.pci) || (link.from == b.pci && link.to == a.pci);
    if (!same) continue;
    if (link.kind) return *link.kind == facts::PeerKind::xgmi ? "XGMI" : "PCIe";
    return link.kind.missing().why == facts::Why::not_present ? "RAM" : "?";
  }
  return "?";
}

}  // namespace

std::string link_words(const facts::Connection& connection) {
  const facts::PcieHop* hop = facts::weakest(connection.hops);
  if (hop != nullptr) return fmt::format("x{} at {} GT/s", *hop->width, *hop->speed);
  return connection.no_hops.why == facts::Why::asleep ? "asleep" : "-";
}

std::string peers_table(const facts::Facts& facts, const Style& style) {
  std::vector<const facts::Gpu*> gpus;
  for (const facts::Gpu& gpu : facts.gpus) {
    if (gpu.kfd_node) gpus.push_back(&gpu);
  }
  if (gpus.size() < 2 || gpus.size() > facts::peers_max) return "";
  // Letters, because every number would be taken for an index.
  const auto letter = [](std::size_t i) { return std::string(1, static_cast<char>('a' + i)); };
  static_assert(facts::peers_max <= 26);
  Row head = {"", "GPU", "HIP index", "PCIe now", "NUMA"};
  std::vector<Align> columns = {Align::left, Align::left, Align::right, Align::left, Align::right};
  bool any_ram = false, any_unknown = false;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    head.push_back("to " + letter(i));
    columns.push_back(Align::left);
  }
  std::vector<Row> rows = {head};
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const facts::Gpu* gpu = gpus[i];
    const facts::Connection& connection = gpu->connection;
    Row row = {letter(i), gpu->pci, index_words(connection.hip_index), link_words(connection),
               number_words(connection.numa_node)};
    for (const facts::Gpu* other : gpus) {
      row.push_back(pair_words(facts, *gpu, *other));
      any_ram = any_ram || row.back() == "RAM";
      any_unknown = any_unknown || row.back() == "?";
    }
    rows.push_back(std::move(row));
  }
  std::string text = "\n" + style.bold("Connections between GPUs") + "\n";
  for (const TableLine& line : table(rows, columns, 2, style.width)) {
    text += (line.row == 0 ? style.dim(line.text) : line.text) + "\n";
  }
  const auto note = [&](const char* words) { text += style.dim(words) + "\n"; };
  if (any_ram) note("  RAM: the driver records no link between them; copies go through RAM");
  if (any_unknown) note("  ?: the link between them could not be read");
  return text;
}

}  // namespace headroom::report
