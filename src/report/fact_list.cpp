// SPDX-License-Identifier: Apache-2.0
#include "report/fact_list.h"

#include <fmt/format.h>

#include "report/links_facts.h"

namespace headroom::report {
namespace {

using facts::Fact;

std::string write(const std::string& text) {
  return text;
}
std::string write(Bytes bytes) {
  return to_string(bytes);
}
std::string write(bool is) {
  return is ? "yes" : "no";
}
std::string write(std::uint64_t number) {
  return std::to_string(number);
}
std::string write(knowledge::Support support) {
  return std::string(to_string(support));
}

class List {
 public:
  template <class T>
  void add(std::string name, const Fact<T>& fact) {
    add_as(std::move(name), fact, [](const T& value) { return write(value); });
  }
  template <class T, class Convert>
  void add_as(std::string name, const Fact<T>& fact, Convert convert) {
    FactRow row{gpu_, std::move(name), "", "", fact.source().path, fact.source().line};
    if (fact) {
      row.value = convert(*fact);
    } else {
      row.missing = to_string(fact.missing());
    }
    rows_.push_back(std::move(row));
  }
  void add_option(const facts::ModuleOption& option) {
    rows_.push_back({gpu_, "option " + option.module + "." + option.key, option.value, "",
                     option.source.path, option.source.line});
  }

  void append(std::vector<FactRow> rows) {
    rows_.insert(rows_.end(), std::make_move_iterator(rows.begin()),
                 std::make_move_iterator(rows.end()));
  }

  void add_machine(const facts::MachineFacts& machine);
  void add_parameters(const facts::MachineFacts& machine);
  void add_wsl(const facts::Wsl& wsl);
  void add_gpu(const facts::Gpu& gpu);
  std::vector<FactRow> take() { return std::move(rows_); }

 private:
  std::string gpu_;
  std::vector<FactRow> rows_;
};

std::string octal(std::uint64_t mode) {
  return fmt::format("{:04o}", mode);
}

void List::add_machine(const facts::MachineFacts& machine) {
  add("kernel", machine.kernel);
  if (machine.kernel_signature) add("kernel package", machine.kernel_signature);
  add("distribution", machine.distribution);
  add("container", machine.container);
  add("ROCm", machine.rocm);
  add("RAM", machine.memory.total);
  add("RAM available", machine.memory.available);
  add("RAM in use by GPUs", machine.memory.gpu_active);
  add("RAM kept by TTM's pool", machine.memory.gpu_reclaim);
  add("KFD system limit", machine.kfd_limits.system_limit);
  add("KFD system in use", machine.kfd_limits.system_used);
  add("KFD TTM limit", machine.kfd_limits.ttm_limit);
  add("KFD TTM in use", machine.kfd_limits.ttm_used);
  add("/dev/kfd", machine.dev_kfd);
  add("/dev/kfd may be used", machine.kfd_usable);
  add_as("/dev/kfd mode", machine.kfd_owner.mode, octal);
  add("/dev/kfd group", machine.kfd_owner.gid);
  add("memory cgroup", machine.cgroup.memory_max);
  add("memory cgroup, high", machine.cgroup.memory_high);
  add("memory cgroup in use", machine.cgroup.memory_used);
  add("driver version", machine.driver_version);
  add_parameters(machine);
}

void List::add_parameters(const facts::MachineFacts& machine) {
  add("limit of " + machine.ttm_module, machine.pages_limit);
  add("amdgpu gttsize", machine.gttsize);
  for (const auto& [name, value] : machine.parameters) {
    add("parameter " + name, value);
  }
  for (const facts::ModuleOption& option : machine.options) {
    const bool ours =
        option.module == "amdgpu" || option.module == "ttm" || option.module == "amdttm";
    if (ours) add_option(option);
  }
}

void List::add_wsl(const facts::Wsl& wsl) {
  rows_.push_back({gpu_, "WSL", std::string(to_string(wsl.kind)), "", wsl.source.path, 0});
  if (wsl.kind != facts::WslKind::wsl2) return;
  const auto add_runtime = [&](std::string name, const facts::HsaRuntime& runtime) {
    add_as(std::move(name), runtime.route,
           [](facts::DxgRoute route) { return std::string(to_string(route)); });
  };
  add("/dev/dxg", wsl.dxg);
  add("/dev/dxg may be used", wsl.dxg_usable);
  add("libdxcore.so", wsl.dxcore);
  add("librocdxg.so", wsl.rocdxg);
  add_runtime("ROCm runtime's way to WSL's GPU", wsl.system);
  add_runtime("torch's runtime's way to WSL's GPU", wsl.bundled);
  add("AMD's driver in Windows", wsl.windows_driver);
  add("Adrenalin release", wsl.adrenalin);
}

void List::add_gpu(const facts::Gpu& gpu) {
  gpu_ = gpu.pci;
  rows_.push_back(
      {gpu_, "name", gpu.name, "", gpu.folder.empty() ? "data/devices.toml" : gpu.folder, 0});
  add_as("device", gpu.device, [](std::uint64_t id) { return fmt::format("{:#06x}", id); });
  add("driver", gpu.driver);
  add("runtime status", gpu.runtime_status);
  add("power state", gpu.power_state);
  add("target", gpu.gfx);
  add("integrated", gpu.integrated);
  add("support", gpu.support);
  add("VRAM", gpu.vram_total);
  add("VRAM in use", gpu.vram_used);
  add("GTT", gpu.gtt_total);
  add("GTT in use", gpu.gtt_used);
  add("pool", gpu.pool);
  add("KFD id", gpu.kfd_id);
  add("free, by KFD", gpu.kfd_free);
  add("VBIOS", gpu.firmware.vbios);
  for (const auto& [name, version] : gpu.firmware.versions) {
    add_as(name + " firmware", version, facts::firmware_text);
  }
  add("render node", gpu.render_node);
  add("render node may be used", gpu.render_usable);
  add_as("render node mode", gpu.render_owner.mode, octal);
  add("render node group", gpu.render_owner.gid);
  add("FUSION flag", gpu.answers.fusion);
  add("evictions", gpu.answers.evictions);
  add("VRAM lost to resets", gpu.answers.vram_lost);
}

// Of the partitions of one card, what the first one's rows have said already.
void drop_repeated(std::vector<FactRow>& rows, const std::vector<FactRow>& said) {
  if (rows.size() != said.size()) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool again = rows[i].name == said[i].name && rows[i].value == said[i].value &&
                       rows[i].missing == said[i].missing && rows[i].source == said[i].source;
    if (again) continue;
    if (kept != i) rows[kept] = std::move(rows[i]);
    ++kept;
  }
  rows.resize(kept);
}

}  // namespace

std::vector<FactRow> list_facts(const facts::Facts& facts) {
  List list;
  list.add_machine(facts.machine);
  if (facts.wsl.is_wsl()) list.add_wsl(facts.wsl);
  list.append(interconnect_rows(facts));
  list.append(python_rows(facts.python));
  const facts::Gpu* before = nullptr;
  std::vector<FactRow> shared;  // All rows of the device that the last GPU is of.
  for (const facts::Gpu& gpu : facts.gpus) {
    List own;
    own.add_gpu(gpu);
    own.append(connection_rows(gpu));
    std::vector<FactRow> rows = own.take();
    if (before == nullptr || before->folder != gpu.folder) {
      shared = rows;
    } else {
      drop_repeated(rows, shared);
    }
    list.append(std::move(rows));
    before = &gpu;
  }
  return list.take();
}

std::string to_text(const std::vector<FactRow>& rows, const Style& style) {
  std::vector<std::vector<std::string>> cells = {{"fact", "value", "from"}};
  std::string gpu;
  for (const FactRow& row : rows) {
    if (row.gpu != gpu) cells.push_back({row.gpu, "", ""});
    gpu = row.gpu;
    std::string place = row.source;
    if (row.line > 0) place += fmt::format(":{}", row.line);
    cells.push_back(
        {(row.gpu.empty() ? "" : "  ") + row.name,
         row.missing.empty() ? printable(row.value) : "- (" + printable(row.missing) + ")",
         printable(place)});
  }
  std::string list;
  for (const TableLine& line :
       table(cells, {Align::left, Align::left, Align::left}, 2, style.width)) {
    list += (line.row == 0 ? style.dim(line.text) : line.text) + "\n";
  }
  return list;
}

}  // namespace headroom::report
