// SPDX-License-Identifier: Apache-2.0
#include "report/ladder_text.h"

#include <fmt/format.h>

namespace headroom::report {
namespace {

using facts::Fact;

std::string amount(const Fact<Bytes>& fact, bool at_most = false) {
  if (fact) return (at_most ? "at most " : "") + to_string(*fact);
  return fact.missing().why == facts::Why::not_limited ? "no limit" : "-";
}

std::string support_words(const facts::Gpu& gpu) {
  if (!gpu.support) return "support not known";
  switch (*gpu.support) {
    case knowledge::Support::official:
      return "officially supported";
    case knowledge::Support::community:
      return "not on AMD's list, built by AMD's TheRock";
    case knowledge::Support::override:
      return "only with an override";
    case knowledge::Support::dropped:
      return "no longer supported";
    case knowledge::Support::unsupported:
      break;
  }
  return "never supported";
}

// Rungs that do not apply, or that nothing is known of, are for --verbose.
bool shown(const facts::Rung& rung, Detail detail) {
  return detail == Detail::verbose || (rung.applies && rung.limit);
}

std::string origin(const facts::Rung& rung) {
  if (!rung.limit) return printable(to_string(rung.limit.missing()));
  const facts::Source& source = rung.limit.source();
  return source.path == "computed" ? source.text : source.path;
}

using Row = std::vector<std::string>;

}  // namespace

std::string_view rung_meaning(std::string_view rung, bool integrated) {
  struct Words {
    std::string_view rung, text;
  };
  constexpr Words words[] = {
      {"ram", "RAM, without the carve-out"},
      {"vram", "the card's own memory"},
      {"ttm", "the kernel's limit on system memory for GPUs"},
      {"gtt", "system memory that graphics may map"},
      {"prefer-gtt", "whether hipMalloc takes system memory"},
      {"pool", "what ROCm offers to hipMalloc"},
      {"kfd-system", "the compute driver's limit on RAM"},
      {"kfd-ttm", "the compute driver's copy of TTM's limit"},
      {"kfd-free", "what the compute driver calls free"},
      {"ram-free", "RAM that is free now"},
      {"cgroup", "the control group's memory (not charged for hipMalloc)"},
      {"dmem", "the control group's VRAM"},
      {"hip", "the largest single allocation"},
      {"framework", "what the framework has reserved"},
  };
  if (integrated && rung == "vram") return "what the BIOS sets aside for the GPU (carve-out)";
  for (const Words& one : words) {
    if (one.rung == rung) return one.text;
  }
  return "";
}

std::string gpu_heading(const facts::Gpu& gpu, const Style& style) {
  std::string kind = "integrated or discrete is not known";
  if (gpu.integrated) kind = *gpu.integrated ? "integrated" : "discrete";
  std::string heading = style.bold(printable(gpu.name)) + "  " +
                        fmt::format("{}, {}, {}  ", gpu.gfx ? *gpu.gfx : "target not known", kind,
                                    support_words(gpu)) +
                        style.dim(gpu.pci);
  if (gpu.asleep()) heading += "  (asleep; headroom does not wake it)";
  return heading + "\n";
}

std::string ladder_table(const facts::Gpu& gpu, Detail detail, const Style& style) {
  std::vector<Row> rows = {{"", "rung", "limit", "in use", "fixed at",
                            detail == Detail::verbose ? "from" : "what it is"}};
  std::vector<bool> binding = {false};
  for (const facts::Rung& rung : gpu.ladder.rungs) {
    if (!shown(rung, detail)) continue;
    std::string what(rung_meaning(rung.name, gpu.integrated && *gpu.integrated));
    if (rung.kind == facts::RungKind::capacity && rung.binding)
      what += "  " + keep_whole("<- binds");
    if (detail == Detail::verbose)
      what = origin(rung) + (rung.binding ? "  " + keep_whole("<- binds") : "");
    rows.push_back({rung.binding ? ">" : " ", rung.name, amount(rung.limit, rung.at_most),
                    amount(rung.used), std::string(to_string(rung.fixed_at)), what});
    binding.push_back(rung.binding);
  }
  if (rows.size() == 1) return "  none of its limits could be read\n";
  const auto lines =
      table(rows, {Align::left, Align::left, Align::right, Align::right, Align::left, Align::left},
            2, style.width);
  std::string text;
  for (const TableLine& line : lines) {
    if (line.row == 0) {
      text += style.dim(line.text);
    } else {
      text += binding[line.row] ? style.bold(line.text) : line.text;
    }
    text += "\n";
  }
  return text;
}

}  // namespace headroom::report
