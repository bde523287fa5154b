// SPDX-License-Identifier: Apache-2.0
// GRUB's menu language as far as menus made by grub-mkconfig, and entries added to them, use it:
// commands, if, variables, menu entries and submenus, the environment block, loader entries.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace headroom::testing {

struct GrubCommand;
using GrubList = std::vector<GrubCommand>;

// A word, before its variables are replaced: pieces of text and names of variables.
struct GrubPiece {
  std::string text;
  bool variable = false;
};
using GrubWord = std::vector<GrubPiece>;

struct GrubCommand {
  std::vector<GrubWord> words;
  GrubList block;                                       // Of menuentry, submenu and function.
  std::vector<std::pair<GrubList, GrubList>> branches;  // Of if: conditions, and what they lead to.
  bool negated = false;
};

// Fails on what is not closed.
Result<GrubList> parse_grub_script(const std::string& text);

// The menu that a script makes, and what its entries start.
struct GrubMenuEntry {
  std::string title, id;
  GrubList body;
  std::vector<GrubMenuEntry> children;  // Of a submenu.
};

class GrubMachine {
 public:
  // `partition` is where what GRUB sees as "/" is on this machine.
  GrubMachine(std::filesystem::path partition, bool writable)
      : partition_(std::move(partition)), writable_(writable) {}

  Status run_file(const std::string& path);
  bool run(const GrubList& list);

  const std::vector<GrubMenuEntry>& menu() const { return *menu_; }
  std::map<std::string, std::string> variables;
  // What the entry that ran last loads, as paths of GRUB.
  std::string kernel, arguments;
  std::vector<std::string> images;
  std::string mistake;  // The first thing that could not be done.

 private:
  std::string expand(const GrubWord& word) const;
  bool run_command(const GrubCommand& command);
  bool run_branches(const GrubCommand& command);
  bool is_true(std::vector<std::string> words) const;
  void add_entry(const std::vector<std::string>& words, const GrubCommand& command, bool submenu);
  void add_loader_entries();
  bool load_environment();
  bool save_environment(const std::vector<std::string>& names);
  std::filesystem::path file(std::string path) const;

  std::filesystem::path partition_;
  bool writable_;
  std::vector<GrubMenuEntry> top_;
  std::vector<GrubMenuEntry>* menu_ = &top_;
  std::map<std::string, GrubList> functions_;
  int depth_ = 0;
};

}  // namespace headroom::testing
