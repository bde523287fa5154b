// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/process_tables.h"

#include <re2/re2.h>

#include "base/text.h"

namespace headroom::findings {
namespace {

using logs::Observation;

// A row of rocm-smi --showpids: PID, name, GPUs, VRAM in bytes, and more.
void add_smi_row(const std::string& line, const Observation& table,
                 std::vector<SeenHolder>& holders) {
  const auto words = split_words(line);
  if (words.size() < 4 || !parse_u64(words[0])) return;
  SeenHolder holder{std::string(words[0]), std::string(words[1]), {}, false, &table};
  if (const auto vram = parse_u64(words[3])) {
    holder.vram = Bytes{*vram};
    holder.told = true;
  }
  holders.push_back(std::move(holder));
}

// amd-smi divides by 1024 and writes "GB".
std::optional<Bytes> binary_amount(std::string text) {
  if (text.size() > 2 && text.ends_with('B') && text[text.size() - 2] != ' ') {
    text.insert(text.size() - 1, "i");
  }
  const auto bytes = parse_bytes(text);
  return bytes ? std::optional(*bytes) : std::nullopt;
}

void add(const std::string& pid, const std::string& program, const std::string& vram,
         const Observation& table, std::vector<SeenHolder>& holders) {
  SeenHolder holder{pid, program, {}, false, &table};
  if (const auto amount = binary_amount(vram)) {
    holder.vram = *amount;
    holder.told = true;
  }
  holders.push_back(std::move(holder));
}

// A row of amd-smi's own table: GPU, PID, name, GTT, VRAM, and more, which a fold may have cut.
void add_amd_smi_row(const std::string& line, const Observation& table,
                     std::vector<SeenHolder>& holders) {
  static const RE2 row(R"(^\|?\s*\d+\s+(\d+)\s+(\S.*?)\s+[\d.]+ [KMGT]?B\s+([\d.]+ [KMGT]?B)\b)");
  std::string pid, program, vram;
  if (RE2::PartialMatch(line, row, &pid, &program, &vram)) add(pid, program, vram, table, holders);
}

void add_nvtop_process(const Observation& row, std::vector<SeenHolder>& holders) {
  const auto vram = parse_bytes(row.value("vram"));
  holders.push_back({std::string(row.value("pid")), std::string(row.value("program")),
                     vram ? *vram : Bytes{}, vram.has_value(), &row});
}

// `amd-smi process` has a line for each figure.
void add_amd_smi_process(const Observation& process, std::vector<SeenHolder>& holders) {
  static const RE2 figure(R"(^\s*(NAME|PID|VRAM_MEM): (.+?)\s*$)");
  std::string name, pid, vram;
  for (const std::string& line : process.output) {
    std::string key, value;
    if (!RE2::PartialMatch(line, figure, &key, &value)) continue;
    (key == "NAME" ? name : key == "PID" ? pid : vram) = value;
  }
  if (parse_u64(pid)) add(pid, name, vram, process, holders);
}

// Figures without the names of their processes tell something if all of them are zero.
void add_bare_figures(const logs::Observations& log, std::vector<SeenHolder>& holders) {
  const auto figures = log.of("process-vram-figure");
  if (figures.empty() || !holders.empty()) return;
  for (const Observation* one : figures) {
    const auto held = binary_amount(std::string(one->value("held")));
    if (!held || held->value > 0) return;
  }
  holders.push_back({"", "", {}, true, figures.front()});
}

}  // namespace

void add_listed_processes(const logs::Observations& log, std::vector<SeenHolder>& holders) {
  // After a grep the table has no head.
  const char* table = log.seen("gpu-processes") ? "gpu-processes" : "showpids-command";
  for (const Observation* one : log.of(table)) {
    for (const std::string& line : one->output) add_smi_row(line, *one, holders);
  }
  for (const Observation* one : log.of("amd-smi-processes")) {
    for (const std::string& line : one->output) add_amd_smi_row(line, *one, holders);
  }
  for (const Observation* one : log.of("nvtop-process")) add_nvtop_process(*one, holders);
  for (const Observation* one : log.of("amd-smi-process")) add_amd_smi_process(*one, holders);
  add_bare_figures(log, holders);
}

}  // namespace headroom::findings
