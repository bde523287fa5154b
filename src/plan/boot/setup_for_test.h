// SPDX-License-Identifier: Apache-2.0
// For tests: a BootSetup from literal files, and what of a plan's steps would be left on disk.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/boot/boot_steps.h"

namespace headroom::plan {

struct TestSetup {
  facts::BootSetup boot;
  facts::MachineFacts machine;
  bool trial = true;

  BootSubject subject() const { return {boot, machine, trial}; }
  void add(const std::string& path, const std::string& text) { boot.files.push_back({path, text}); }
  void use(facts::CommandLineTool tool) { boot.command_line = {tool, {"test", 0, ""}}; }
  void use(facts::InitramfsTool tool) { boot.initramfs = {tool, {"test", 0, ""}}; }
  void programs(const std::vector<std::string>& names) {
    for (const std::string& name : names) boot.programs[name] = "/usr/sbin/" + name;
  }
  void on_command_line(const std::string& words) {
    for (auto& option : facts::parse_cmdline({words, {"/proc/cmdline", 1, words}})) {
      machine.options.push_back(std::move(option));
    }
  }
};

inline TestSetup ubuntu() {
  TestSetup setup;
  setup.use(facts::CommandLineTool::update_grub);
  setup.use(facts::InitramfsTool::update_initramfs);
  setup.machine.distribution_id = {"ubuntu debian", {}};
  setup.boot.grub_config = "/boot/grub/grub.cfg";
  setup.boot.grubenv_writable = {true, {"/proc/mounts", 1, "/boot is ext4"}};
  setup.programs({"update-grub", "grub-reboot", "grub-editenv"});
  setup.boot.kernels = {{"6.14.0-37-generic", "/boot/initrd.img-6.14.0-37-generic", true}};
  return setup;
}

inline TestSetup fedora() {
  TestSetup setup;
  setup.use(facts::CommandLineTool::grubby);
  setup.use(facts::InitramfsTool::dracut);
  setup.machine.distribution_id = {"fedora", {}};
  setup.boot.grub_config = "/boot/grub2/grub.cfg";
  setup.boot.entries = "/boot/loader/entries";
  setup.boot.grubenv_writable = {true, {"/proc/mounts", 1, "/boot is ext4"}};
  setup.programs({"grubby", "grub2-reboot", "grub2-editenv"});
  setup.boot.kernels = {
      {"6.17.9-200.fc42.x86_64", "/boot/initramfs-6.17.9-200.fc42.x86_64.img", true}};
  return setup;
}

// The last bytes that file edits leave at each path; a path that is removed has "(gone)". An edit
// that does not begin with what the one before it left gives "(broken)".
inline std::map<std::string, std::string> files_after(
    const TestSetup& setup, const std::vector<Step>& steps,
    std::map<std::string, std::string> files = {}) {
  for (const Step& step : steps) {
    const auto* edit = std::get_if<FileEdit>(&step.action);
    if (edit == nullptr) continue;
    const auto known = files.find(edit->path);
    const auto* original = setup.boot.file(edit->path);
    std::string before = original == nullptr ? "(gone)" : original->text;
    if (known != files.end()) before = known->second;
    const bool fits = edit->before.value_or("(gone)") == before;
    files[edit->path] = fits ? edit->after.value_or("(gone)") : "(broken)";
  }
  return files;
}

inline std::vector<std::string> command_lines(const std::vector<Step>& steps) {
  std::vector<std::string> lines;
  for (const Step& step : steps) {
    const auto* command = std::get_if<Command>(&step.action);
    if (command == nullptr) continue;
    std::string line;
    for (const std::string& word : command->argv) line += (line.empty() ? "" : " ") + word;
    lines.push_back(line);
  }
  return lines;
}

}  // namespace headroom::plan
