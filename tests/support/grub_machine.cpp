// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "base/text.h"
#include "machine/user_files.h"
#include "support/boot_entry.h"
#include "support/grub_script.h"

namespace headroom::testing {
namespace {

namespace fs = std::filesystem;

bool is_assignment(const std::string& word) {
  const std::size_t at = word.find('=');
  return at != std::string::npos && at > 0 &&
         word.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == at;
}

std::string read_or_empty(const fs::path& path) {
  const auto text = machine::read_file(path.string());
  return text ? *text : "";
}

}  // namespace

// Device names before a path mean the one partition that is played: "(hd0,gpt2)/vmlinuz".
fs::path GrubMachine::file(std::string path) const {
  if (path.starts_with('(')) path = path.substr(path.find(')') + 1);
  return partition_ / path.substr(path.starts_with('/') ? 1 : 0);
}

std::string GrubMachine::expand(const GrubWord& word) const {
  std::string text;
  for (const GrubPiece& piece : word) {
    if (!piece.variable) {
      text += piece.text;
    } else if (const auto found = variables.find(piece.text); found != variables.end()) {
      text += found->second;
    }
  }
  return text;
}

Status GrubMachine::run_file(const std::string& path) {
  HEADROOM_TRY(const std::string text, machine::read_file(file(path).string()));
  HEADROOM_TRY(const GrubList list, parse_grub_script(text));
  run(list);
  return Done{};
}

bool GrubMachine::run(const GrubList& list) {
  bool good = true;
  if (++depth_ < 50) {
    for (const GrubCommand& command : list) good = run_command(command) != command.negated;
  }
  --depth_;
  return good;
}

bool GrubMachine::run_branches(const GrubCommand& command) {
  for (const auto& [condition, then] : command.branches) {
    if (condition.empty() || run(condition)) return run(then);
  }
  return true;
}

bool GrubMachine::run_command(const GrubCommand& command) {
  if (!command.branches.empty()) return run_branches(command);
  std::vector<std::string> words;
  for (const GrubWord& word : command.words) {
    const std::string text = expand(word);
    // A variable without a value, and without quotes around it, is no word at all.
    const bool only_variables =
        std::all_of(word.begin(), word.end(), [](const auto& piece) { return piece.variable; });
    if (!text.empty() || !only_variables) words.push_back(text);
  }
  if (words.empty()) return true;
  const std::string name = words.front();
  if (name == "menuentry" || name == "submenu") {
    add_entry(words, command, name == "submenu");
    return true;
  }
  if (name == "function") {
    functions_[words.at(1)] = command.block;
    return true;
  }
  if (const auto found = functions_.find(name); found != functions_.end()) {
    return run(found->second);
  }
  const bool set = name == "set" && words.size() > 1;
  if (set || is_assignment(name)) {
    const std::string& pair = words[set ? 1 : 0];
    variables[pair.substr(0, pair.find('='))] = pair.substr(pair.find('=') + 1);
    return true;
  }
  if (name == "unset") return variables.erase(words.at(1)) > 0;
  if (name == "[" || name == "test") return is_true({words.begin() + 1, words.end()});
  if (name == "false") return false;
  if (name == "load_env") return load_environment();
  if (name == "save_env") return save_environment({words.begin() + 1, words.end()});
  if (name == "blscfg") add_loader_entries();
  if (name == "source" || name == "." || name == "configfile") {
    return run_file(words.at(1)).has_value();
  }
  if (name == "linux" || name == "linuxefi" || name == "linux16") {
    kernel = words.at(1);
    arguments = join({words.begin() + 2, words.end()}, " ");
  }
  if (name == "initrd" || name == "initrdefi" || name == "initrd16") {
    images.assign(words.begin() + 1, words.end());
  }
  return true;  // insmod, search, echo and the like change nothing that is played.
}

bool GrubMachine::is_true(std::vector<std::string> words) const {
  if (!words.empty() && words.back() == "]") words.pop_back();
  for (const char* joint : {"-o", "-a"}) {
    const auto at = std::find(words.begin(), words.end(), joint);
    if (at == words.end()) continue;
    const bool left = is_true({words.begin(), at});
    const bool right = is_true({at + 1, words.end()});
    return joint[1] == 'o' ? left || right : left && right;
  }
  if (!words.empty() && words.front() == "!") return !is_true({words.begin() + 1, words.end()});
  if (words.size() == 3 && (words[1] == "=" || words[1] == "==")) return words[0] == words[2];
  if (words.size() == 3 && words[1] == "!=") return words[0] != words[2];
  if (words.size() == 2 || (words.size() == 1 && words[0].starts_with('-'))) {
    const std::string& test = words[0];
    const std::string operand = words.size() == 2 ? words[1] : "";
    std::error_code none;
    if (test == "-n") return !operand.empty();
    if (test == "-z") return operand.empty();
    if (test == "-s") return fs::file_size(file(operand), none) > 0 && !none;
    if (test == "-f") return fs::is_regular_file(file(operand), none);
    if (test == "-d") return fs::is_directory(file(operand), none);
    if (test == "-e") return fs::exists(file(operand), none);
  }
  return words.size() == 1 && !words[0].empty();
}

void GrubMachine::add_entry(const std::vector<std::string>& words, const GrubCommand& command,
                            bool submenu) {
  GrubMenuEntry entry;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool takes_value = words[i] == "--id" || words[i] == "--class" || words[i] == "--users" ||
                             words[i] == "--hotkey";
    if (words[i] == "--id" && i + 1 < words.size()) entry.id = words[i + 1];
    if (takes_value) {
      ++i;
    } else if (entry.title.empty() && !words[i].starts_with("--")) {
      entry.title = words[i];
    }
  }
  if (submenu) {
    auto* outer = menu_;
    menu_ = &entry.children;
    run(command.block);
    menu_ = outer;
  } else {
    entry.body = command.block;
  }
  menu_->push_back(std::move(entry));
}

// Newest first, by the names of the files; an entry's ID is its file's name.
void GrubMachine::add_loader_entries() {
  std::vector<fs::path> paths;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(file("/loader/entries"), none)) {
    if (entry.path().extension() == ".conf") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end(), [](const fs::path& a, const fs::path& b) {
    return ::strverscmp(a.stem().c_str(), b.stem().c_str()) > 0;
  });
  for (const fs::path& path : paths) {
    const std::string text = read_or_empty(path);
    const auto first = [&](const char* key) {
      const auto values = entry_values(text, key);
      return values.empty() ? std::string() : values.front();
    };
    GrubMenuEntry entry{first("title"), path.stem().string(), {}, {}};
    std::string script = "linux " + first("linux") + " " + join(entry_values(text, "options"), " ");
    script += "\ninitrd " + join(entry_values(text, "initrd"), " ") + "\n";
    if (auto body = parse_grub_script(script)) entry.body = *std::move(body);
    menu_->push_back(std::move(entry));
  }
}

// An environment block is one disk sector or two; anything else GRUB refuses.
bool GrubMachine::load_environment() {
  const std::string text = read_or_empty(file(variables["prefix"] + "/grubenv"));
  if (text.size() < 1024 || !text.starts_with("# GRUB Environment Block\n")) return false;
  for (const std::string_view line : split_lines(text)) {
    const std::size_t at = line.find('=');
    if (line.starts_with('#') || at == std::string::npos) continue;
    variables[std::string(line.substr(0, at))] = std::string(line.substr(at + 1));
  }
  return true;
}

bool GrubMachine::save_environment(const std::vector<std::string>& names) {
  const fs::path path = file(variables["prefix"] + "/grubenv");
  const std::string text = read_or_empty(path);
  if (!writable_ || text.size() != 1024) return false;  // Written in place, never longer.
  std::string block;
  const auto is_named = [&](std::string_view line) {
    return std::find(names.begin(), names.end(), line.substr(0, line.find('='))) != names.end();
  };
  for (const std::string_view line : split_lines(text)) {
    const bool filling = line.find_first_not_of('#') == std::string::npos;
    if (!filling && (line.starts_with('#') || !is_named(line))) block += std::string(line) + "\n";
  }
  for (const std::string& name : names) {
    if (!variables[name].empty()) block += fmt::format("{}={}\n", name, variables[name]);
  }
  if (block.size() > 1024) return false;
  block.resize(1024, '#');
  std::ofstream(path, std::ios::binary | std::ios::in) << block;
  return true;
}

}  // namespace headroom::testing
