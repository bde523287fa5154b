// SPDX-License-Identifier: Apache-2.0
// Reads the settings out of one line after the other, whatever the file is: a line says by itself
// which form it has, and only compose's blocks and a shell's later "export NAME" need memory.
// Internal to parse_snippet and parse_unit.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/environment.h"
#include "facts/shell_words.h"

namespace headroom::facts {

// A line of a systemd unit or quadlet that can set variables: Environment=, UnsetEnvironment=,
// ExecStart= and PodmanArgs=.
bool is_unit_line(std::string_view line);

class SnippetReader {
 public:
  SnippetReader(std::string path, const std::vector<std::string>& boot_words)
      : path_(std::move(path)), boot_words_(boot_words) {}

  void read(const LogicalLine& line);
  std::vector<Setting> finish();

 private:
  using Words = std::vector<Word>;

  bool read_block(std::string_view line);
  bool read_unit(std::string_view line);
  bool read_python(std::string_view line);
  bool read_dockerfile(const Words& words);
  bool read_module_options(const Words& words);
  void read_commands(const Words& words);
  void read_command(const Words& words);
  void read_export(const Words& words, std::size_t from);
  void read_container_options(const Words& words, std::size_t from);
  void read_set(const Words& words, std::size_t from);
  void find_boot_words(std::string_view text);

  void add(std::string_view assignment, Form form, bool exported);
  void add(std::string name, std::string value, Form form, bool exported);
  void remove(std::string_view name);
  void mark_exported(std::string_view name);

  std::string path_;
  const std::vector<std::string>& boot_words_;
  std::vector<Setting> settings_;
  int line_ = 0;
  int depth_ = 0;            // Of quoted lines inside lines.
  bool is_shell_ = false;    // Commands were seen: a plain NAME=VALUE stays in the shell.
  bool export_all_ = false;  // set -a.
  bool is_unit_ = false;     // A "[Section]" was seen: other keys are no variables.
  bool in_block_ = false;    // Below compose's "environment:" or Kubernetes' "env:".
  std::size_t block_indent_ = 0;
  std::string block_name_;  // Kubernetes: "- name: X", whose value is on the next line.
};

}  // namespace headroom::facts
