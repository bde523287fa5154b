// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/device_memory.h"

#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "base/text.h"
#include "findings/causes/amounts.h"
#include "findings/causes/process_tables.h"

namespace headroom::findings {
namespace {

using logs::Observation;

void keep_first(std::optional<SeenAmount>& amount, const std::optional<Bytes>& found,
                const Observation& seen) {
  if (found && !amount) amount = SeenAmount{*found, &seen};
}

void keep_largest(std::optional<SeenAmount>& amount, const std::optional<Bytes>& found,
                  const Observation& seen) {
  if (found && (!amount || *found > amount->amount)) amount = SeenAmount{*found, &seen};
}

// `rocm-smi --showmeminfo` prints a total and a use for each GPU; the fullest GPU is taken.
void add_smi_table(const logs::Observations& log, DeviceMemory& memory) {
  struct Row {
    std::optional<SeenAmount> total, used;
  };
  std::map<std::string, Row, std::less<>> vram, gtt;
  for (const Observation* one : log.of("smi-meminfo")) {
    auto& rows = to_lower(one->value("kind")) == "vram" ? vram : gtt;
    Row& row = rows[std::string(one->value("index"))];
    // A later table with more in use replaces an earlier one, since a job may have run in between.
    keep_largest(one->value("what") == "Total" ? row.total : row.used, amount_of(*one, "amount"),
                 *one);
  }
  const auto take_fullest = [](const auto& rows, auto& total, auto& used) {
    for (const auto& [index, row] : rows) {
      const bool fuller = row.used && (!used || row.used->amount > used->amount);
      if (fuller || !total) {
        total = row.total;
        used = row.used;
      }
    }
  };
  take_fullest(vram, memory.vram_total, memory.vram_used);
  take_fullest(gtt, memory.gtt_total, memory.gtt_used);
}

// Programs and people that write both into one line.
void add_used_and_total(const logs::Observations& log, DeviceMemory& memory) {
  for (const char* id : {"amd-smi-used", "amd-smi-monitor", "nvtop-memory", "vram-told"}) {
    for (const Observation* one : log.of(id)) {
      keep_largest(memory.vram_total, amount_of(*one, "total"), *one);
      keep_largest(memory.vram_used, amount_of(*one, "used"), *one);
    }
  }
}

// `amd-smi metric -m` has a line for each figure.
void add_amd_smi_metric(const logs::Observations& log, DeviceMemory& memory) {
  for (const Observation* one : log.of("amd-smi-metric")) {
    const bool is_total = one->value("what") == "TOTAL";
    const bool is_vram = one->value("kind") == "VRAM";
    auto& amount = is_vram ? (is_total ? memory.vram_total : memory.vram_used)
                           : (is_total ? memory.gtt_total : memory.gtt_used);
    keep_largest(amount, amount_of(*one, "amount"), *one);
  }
}

// Expands a shell's braces: "{gtt,vram}" → gtt, vram; "gtt" → gtt.
std::vector<std::string_view> alternatives_of(std::string_view word) {
  if (!word.starts_with('{') || !word.ends_with('}')) return {word};
  return split(word.substr(1, word.size() - 2), ',');
}

// `cat …/mem_info_vram_total` prints the number on the next line, grep on the same one. Several
// files, or a shell's braces, give one line each, in their order.
void add_driver_files(const logs::Observations& log, DeviceMemory& memory) {
  static const RE2 file(R"(mem_info_(vram|gtt|\{[a-z_,]+\})_(total|used|\{[a-z,]+\}))");
  for (const Observation* one : log.of("mem-info-file")) {
    std::vector<std::optional<SeenAmount>*> asked;
    re2::StringPiece rest(one->text);
    re2::StringPiece kinds, whats;
    while (RE2::FindAndConsume(&rest, file, &kinds, &whats)) {
      for (const std::string_view kind : alternatives_of({kinds.data(), kinds.size()})) {
        for (const std::string_view what : alternatives_of({whats.data(), whats.size()})) {
          const bool total = what == "total";
          asked.push_back(kind == "vram"  ? (total ? &memory.vram_total : &memory.vram_used)
                          : kind == "gtt" ? (total ? &memory.gtt_total : &memory.gtt_used)
                                          : nullptr);
        }
      }
    }
    if (const auto amount = amount_of(*one, "amount"); amount && !asked.empty()) {
      if (asked.front() != nullptr) keep_largest(*asked.front(), amount, *one);
      continue;
    }
    for (std::size_t i = 0; i < asked.size() && i < one->output.size(); ++i) {
      // A person may have added a remark: "16636528640   # 15.49 GiB".
      const auto words = split_words(one->output[i]);
      const bool alone = words.size() == 1 || (words.size() > 1 && words[1].starts_with('#'));
      const auto number = alone ? parse_u64(words.front()) : std::nullopt;
      if (!number) break;
      if (asked[i] != nullptr) keep_largest(*asked[i], Bytes{*number}, *one);
    }
  }
}

// radeontop prints the use in MB and as a percentage.
void add_radeontop(const logs::Observations& log, DeviceMemory& memory) {
  for (const Observation* one : log.of("radeontop-vram")) {
    const auto used = amount_of(*one, "used");
    const auto percent = number_of(*one, "percent");
    if (!used || !percent || *percent < 0.5) continue;
    keep_largest(memory.vram_used, used, *one);
    const double total = static_cast<double>(used->value) * 100 / *percent;
    keep_first(memory.vram_total, Bytes{static_cast<std::uint64_t>(total)}, *one);
  }
}

// A percentage gives the amount if the size is known.
void add_percentages(const LogSubject& subject, DeviceMemory& memory) {
  if (memory.vram_used) return;
  const Bytes total = memory.vram_total    ? memory.vram_total->amount
                      : subject.scene.vram ? *subject.scene.vram
                                           : 100_GiB;
  for (const Observation* one : subject.log.of("smi-percent")) {
    const auto percent = number_of(*one, "percent");
    if (!percent || *percent > 100) continue;
    keep_largest(memory.vram_used, Bytes{total.value / 100 * static_cast<std::uint64_t>(*percent)},
                 *one);
  }
  if (memory.vram_used && !memory.vram_total) {
    memory.is_share = !subject.scene.vram;
    memory.vram_total = SeenAmount{total, memory.vram_used->seen};
  }
}

// rocminfo lists agents one after the other, each with its pools.
void add_pools(const logs::Observations& log, DeviceMemory& memory) {
  enum class Agent { unknown, cpu, gpu } agent = Agent::unknown;
  for (const Observation& one : log.all()) {
    if (one.id() == "agent-head") agent = Agent::unknown;
    if (one.id() == "agent-name") agent = Agent::gpu;
    if (one.id() == "agent-type") {
      agent = one.value("type") == "GPU" ? Agent::gpu : Agent::cpu;
    }
    if (one.id() != "agent-pool") continue;
    const auto size = parse_u64(one.value("kib"));
    if (!size || *size < 65536) continue;  // Such a small pool is the LDS.
    if (agent == Agent::gpu) keep_largest(memory.pool, Bytes{*size * 1024}, one);
    if (agent == Agent::cpu) keep_largest(memory.ram, Bytes{*size * 1024}, one);
  }
}

void add_holders(const logs::Observations& log, DeviceMemory& memory) {
  memory.no_processes = log.first("no-gpu-processes");
  add_listed_processes(log, memory.holders);
  const auto add = [&](std::string_view pid, std::string_view program, const Observation& seen) {
    const bool known = std::any_of(memory.holders.begin(), memory.holders.end(),
                                   [&](const SeenHolder& one) { return one.pid == pid; });
    if (!known) {
      memory.holders.push_back({std::string(pid), std::string(program), {}, false, &seen});
    }
  };
  for (const Observation* one : log.of("device-holder")) {
    for (const char* wording : {"", "_1", "_2"}) {
      const std::string_view pid = one->value(std::string("pid") + wording);
      if (!pid.empty()) add(pid, one->value(std::string("program") + wording), *one);
    }
  }
  // The commands print a program and its PID: lsof … | awk '{print $1, $2}'
  for (const Observation* command : log.of("holders-command")) {
    for (const std::string& line : command->output) {
      const auto words = split_words(line);
      if (words.size() == 2 && parse_u64(words[1]) && !parse_u64(words[0])) {
        add(words[1], words[0], *command);
      }
    }
  }
}

// `free` prints KiB, with -m MiB and with -g GiB. The unit follows from the size, as no machine has
// 2 TiB or 3 MiB of RAM.
Bytes amount_by_free(std::uint64_t number) {
  constexpr std::uint64_t most_gib = 2048, most_mib = 3'000'000;
  const unsigned shift = number < most_gib ? 30U : number < most_mib ? 20U : 10U;
  return Bytes{number << shift};
}

// Reads "(25753026560, 25753026560)" as PyTorch prints it, "23.9 24.0" of a script's own, or
// "[122731, 122880]" after a division into MiB.
std::optional<Bytes> free_by_hip(const Observation& seen) {
  static const RE2 pair(R"([\[(](\d+(?:\.\d+)?), *(\d+(?:\.\d+)?)[\])])");
  static const RE2 plain(R"(\s*(\d+(?:\.\d+)?)[ \t]+(\d+(?:\.\d+)?)\s*)");
  double free = 0, total = 0;
  bool found =
      RE2::PartialMatch(seen.text, pair, &free, &total) ||
      (!seen.output.empty() && (RE2::PartialMatch(seen.output.front(), pair, &free, &total) ||
                                RE2::FullMatch(seen.output.front(), plain, &free, &total)));
  // A runtime may print lines of its own first; a pair of bytes is like nothing else.
  constexpr double least_bytes = 1e8;
  for (std::size_t i = 1; !found && i < seen.output.size(); ++i) {
    found = RE2::PartialMatch(seen.output[i], pair, &free, &total) && total >= least_bytes;
  }
  if (!found || total <= 0) return std::nullopt;
  constexpr double gib = 1024.0 * 1024 * 1024, mib = 1024.0 * 1024;
  return Bytes{static_cast<std::uint64_t>(free * (total < 1024 ? gib : total < 1e8 ? mib : 1))};
}

void add_ram(const logs::Observations& log, DeviceMemory& memory) {
  for (const Observation* one : log.of("mem-total")) {
    if (const auto size = amount_of(*one, "size")) {
      keep_first(memory.ram, size, *one);
    } else if (const auto plain = parse_u64(one->value("amount"))) {
      keep_first(memory.ram, amount_by_free(*plain), *one);
    } else {
      keep_first(memory.ram, amount_of(*one, "amount"), *one);
    }
  }
  for (const Observation* one : log.of("mem-available")) {
    const auto kib = parse_u64(one->value("kib"));
    if (kib) keep_first(memory.ram_available, Bytes{*kib * 1024}, *one);
  }
  for (const Observation* one : log.of("ollama-host-memory")) {
    keep_first(memory.ram_available, amount_of(*one, "free"), *one);
    keep_first(memory.ram, amount_of(*one, "total"), *one);
  }
  for (const Observation* one : log.of("amd-ttm-ram")) {
    if (const auto gib = number_of(*one, "gib")) {
      keep_first(memory.ram, Bytes{static_cast<std::uint64_t>(*gib * 1073741824.0)}, *one);
    }
  }
  for (const Observation* one : log.of("comfy-memory")) {
    const auto mib = number_of(*one, "ram_mib");  // The program writes it as "MB".
    if (mib) keep_first(memory.ram, Bytes{static_cast<std::uint64_t>(*mib * 1048576.0)}, *one);
  }
  for (const Observation* one : log.of("ollama-cpu-only")) {
    keep_first(memory.ram, amount_of(*one, "ram"), *one);
  }
  for (const char* id : {"amd-ttm", "pages-limit-file"}) {
    for (const Observation* one : log.of(id)) {
      auto pages = parse_u64(one->value("pages"));
      if (!pages && !one->output.empty()) pages = parse_u64(trim(one->output.front()));
      if (pages) keep_first(memory.ttm_limit, Bytes{*pages * 4096}, *one);
    }
  }
}

// Sizes that scripts and people print in words of their own; the systems' own tables come first.
void add_told_sizes(const logs::Observations& log, DeviceMemory& memory) {
  for (const Observation* one : log.of("memory-size-told")) {
    const std::string kind = to_lower(one->value("kind"));
    keep_first(kind.starts_with("vram")  ? memory.vram_total
               : kind.starts_with("gtt") ? memory.gtt_total
                                         : memory.ram,
               amount_of(*one, "amount"), *one);
  }
  for (const Observation* one : log.of("pool-told")) {
    keep_first(memory.pool, amount_of(*one, "amount"), *one);
  }
}

void add_job_view(const logs::Observations& log, DeviceMemory& memory) {
  for (const char* id :
       {"ggml-memory", "ollama-memory", "comfy-memory", "torch-total-memory", "llama-device-memory",
        "llama-device-free", "memory-waited-for", "opencl-memory", "gpu-total-printed"}) {
    for (const Observation* one : log.of(id)) {
      keep_largest(memory.job_total, amount_of(*one, "total"), *one);
      keep_first(memory.job_free, amount_of(*one, "free"), *one);
    }
  }
  // What llama.cpp finds too little counts more than what an earlier run found.
  for (const Observation* fit : log.of("llama-fit")) {
    const auto free = amount_of(*fit, "free"), wanted = amount_of(*fit, "wanted");
    if (free && wanted && *wanted > *free) memory.job_free = SeenAmount{*free, fit};
    keep_first(memory.job_free, free, *fit);
  }
  for (const Observation* one : log.of("hip-total-told")) {
    keep_first(memory.hip_total, amount_of(*one, "total"), *one);
  }
  for (const Observation* one : log.of("mem-get-info")) {
    keep_first(memory.hip_free, free_by_hip(*one), *one);
  }
}

// An APU with an override is listed with the target of the discrete card as which it runs.
bool is_override(const Scene& scene, const SceneGpu& gpu) {
  const facts::Setting* setting = scene.setting("HSA_OVERRIDE_GFX_VERSION");
  if (setting == nullptr || scene.integrated_gpu() == nullptr) return false;
  return knowledge::target_of_override(setting->value) == gpu.gfx;
}

// Whether the job's GPU uses system memory: its target or name says so, or it has a carve-out
// smaller than any card's memory.
bool is_unified(const LogSubject& subject, const DeviceMemory& memory) {
  const SceneGpu* card = subject.scene.discrete_gpu();
  if (card != nullptr && !is_override(subject.scene, *card)) return false;
  if (subject.scene.integrated_gpu() != nullptr || subject.log.seen("igpu-type") ||
      subject.log.seen("ollama-igpu-skipped")) {
    return true;
  }
  if (memory.vram_total) return memory.vram_total->amount <= 1_GiB;
  for (const Observation* one : subject.log.of("opencl-memory")) {
    const auto offered = amount_of(*one, "total");
    if (offered && *offered <= 1_GiB) return true;
  }
  // What PyTorch names as a GPU's capacity is its carve-out as well.
  for (const Observation* one : subject.log.of("torch-oom")) {
    const auto capacity = amount_of(*one, "capacity");
    if (capacity && *capacity <= 1_GiB) return true;
  }
  return false;
}

}  // namespace

std::optional<double> DeviceMemory::used_part() const {
  if (!vram_total || !vram_used) return std::nullopt;
  return part_of(vram_used->amount, vram_total->amount);
}

const Observation* DeviceMemory::holders_without_memory() const {
  const Observation* table = nullptr;
  for (const SeenHolder& one : holders) {
    if (!one.told || one.vram.value > 0) return nullptr;
    table = one.seen;
  }
  return table;
}

const SeenHolder* writer_of(const DeviceMemory& memory, const Observation& line) {
  static const RE2 number(R"(\bpid=(\d+))");
  std::string pid;
  if (!RE2::PartialMatch(line.origin, number, &pid)) return nullptr;
  const auto found = std::find_if(memory.holders.begin(), memory.holders.end(),
                                  [&](const SeenHolder& one) { return one.pid == pid; });
  return found == memory.holders.end() ? nullptr : &*found;
}

DeviceMemory device_memory(const LogSubject& subject) {
  DeviceMemory memory;
  add_smi_table(subject.log, memory);
  add_used_and_total(subject.log, memory);
  add_amd_smi_metric(subject.log, memory);
  add_driver_files(subject.log, memory);
  add_radeontop(subject.log, memory);
  for (const Observation* one : subject.log.of("vram-ready")) {
    keep_largest(memory.vram_total, amount_of(*one, "total"), *one);
  }
  for (const Observation* one : subject.log.of("gtt-ready")) {
    keep_largest(memory.gtt_total, amount_of(*one, "total"), *one);
  }
  add_pools(subject.log, memory);
  add_holders(subject.log, memory);
  add_ram(subject.log, memory);
  add_told_sizes(subject.log, memory);
  add_job_view(subject.log, memory);
  add_percentages(subject, memory);
  // What somebody tells counts where no tool says it.
  if (!memory.gtt_total) {
    for (const Observation* one : subject.log.of("gtt-told")) {
      keep_largest(memory.gtt_total, amount_of(*one, "gtt"), *one);
    }
  }
  memory.unified = is_unified(subject, memory);
  return memory;
}

}  // namespace headroom::findings
