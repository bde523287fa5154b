// SPDX-License-Identifier: Apache-2.0
// For tests of fixes: a machine of values with one card, and what its fixes are asked with.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "findings/diagnosis.h"
#include "plan/fix.h"

namespace headroom::plan::testing {

inline const knowledge::GpuTables& tables() {
  static const knowledge::GpuTables loaded = *knowledge::load_gpu_tables();
  return loaded;
}

template <class T>
facts::Fact<T> known(T value, const char* path = "/file") {
  return {std::move(value), facts::Source{path, 1, "text"}};
}

inline facts::Gpu make_gpu(const char* pci, const char* gfx, bool integrated = false) {
  facts::Gpu gpu;
  gpu.pci = pci;
  gpu.name = "AMD Card";
  gpu.gfx = known(std::string(gfx));
  gpu.integrated = known(integrated);
  gpu.support = known(knowledge::support_of(*tables().target(gfx)));
  gpu.kfd_id = known(std::uint64_t{1});
  gpu.driver = known(std::string("amdgpu"));
  return gpu;
}

struct World {
  facts::Facts facts;
  findings::Diagnosis diagnosis;
  facts::BootSetup boot;
  std::vector<facts::ConfigFile> files;
  facts::SystemLibraries libraries;
  FixOptions options;

  explicit World(const char* gfx = "gfx1100") {
    facts.looked = known(true);
    facts.kfd_present = known(true);
    facts.gpus = {make_gpu("0000:03:00.0", gfx)};
    boot.programs = {{"systemctl", "/usr/bin/systemctl"}};
    options.user = "alice";
    options.home = "/var/home/alice";
  }

  void look() { diagnosis = findings::diagnose({facts, tables()}); }
  // As if check had found it.
  void find(std::string id) {
    findings::Finding finding;
    finding.id = std::move(id);
    diagnosis.findings.push_back(std::move(finding));
  }

  FixSubject subject() const {
    return {facts, diagnosis, tables(), boot, files, options, &libraries};
  }
  Result<Change> plan(const Fix& fix) const { return fix.plan(subject()); }
  bool applies(const Fix& fix) const { return fix.applies(subject()); }
};

// What the change makes of a file; nullptr where no step edits it.
inline const FileEdit* edit_of(const Change& change, std::string_view path) {
  for (const Step& step : change.steps) {
    const auto* edit = std::get_if<FileEdit>(&step.action);
    if (edit != nullptr && edit->path == path) return edit;
  }
  return nullptr;
}

inline std::vector<std::string> commands_of(const Change& change) {
  std::vector<std::string> commands;
  for (const Step& step : change.steps) {
    const auto* command = std::get_if<Command>(&step.action);
    if (command == nullptr) continue;
    std::string line;
    for (const std::string& word : command->argv) line += (line.empty() ? "" : " ") + word;
    commands.push_back(line);
  }
  return commands;
}

// All instructions, one per line.
inline std::string told_by(const Change& change) {
  std::string told;
  for (const Step& step : change.steps) {
    if (const auto* text = std::get_if<Instruction>(&step.action)) told += text->text + "\n";
  }
  return told;
}

inline std::string notes_of(const Change& change) {
  std::string notes;
  for (const std::string& note : change.notes) notes += note + "\n";
  return notes;
}

}  // namespace headroom::plan::testing
