// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/grub_menu.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "facts/shell_words.h"
#include "plan/boot/command_line_words.h"
#include "plan/boot/grub_environment.h"

namespace headroom::plan {
namespace {

bool opens(std::string_view line, std::string_view keyword) {
  return line.starts_with(keyword) && line.ends_with('{') &&
         (line.substr(keyword.size(), 1) == " " || line.substr(keyword.size(), 1) == "\t");
}

// "menuentry 'Title' --class os $menuentry_id_option 'id' {"
MenuEntry parse_header(std::string_view line) {
  MenuEntry entry;
  entry.submenu = opens(line, "submenu");
  std::vector<std::string> words;
  for (const facts::Word& word : facts::split_shell_words(line)) words.push_back(word.text);
  if (!words.empty() && words.back() == "{") words.pop_back();
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool names_id = words[i] == "$menuentry_id_option" || words[i] == "--id";
    if (i == 1) {
      entry.title = words[i];
    } else if (names_id && i + 1 < words.size()) {
      entry.id = words[++i];
    } else if (words[i].starts_with("--id=")) {
      entry.id = words[i].substr(5);
    } else {
      entry.options.push_back(words[i]);
    }
  }
  return entry;
}

class MenuReader {
 public:
  explicit MenuReader(std::string_view config) : lines_(split(config, '\n')) {}

  std::vector<MenuEntry> read(bool to_brace) {
    std::vector<MenuEntry> entries;
    while (at_ < lines_.size()) {
      const std::string_view line = trim(lines_[at_++]);
      if (line.starts_with('#')) continue;
      if (line == "}" && to_brace) break;
      if (opens(line, "menuentry")) {
        entries.push_back(parse_header(line));
        entries.back().body = read_block();
      } else if (opens(line, "submenu")) {
        entries.push_back(parse_header(line));
        entries.back().entries = read(true);
      } else if (line.ends_with('{')) {
        read_block();  // A function.
      }
    }
    return entries;
  }

 private:
  std::string read_block() {
    std::string body;
    for (int depth = 1; at_ < lines_.size(); ++at_) {
      const std::string_view line = trim(lines_[at_]);
      if (!line.starts_with('#') && line.ends_with('{') && !line.ends_with("${")) ++depth;
      if (line == "}" && --depth == 0) {
        ++at_;
        break;
      }
      body += std::string(lines_[at_]) + "\n";
    }
    return body;
  }

  std::vector<std::string_view> lines_;
  std::size_t at_ = 0;
};

// The first part of a choice, with ">>" as ">"; `rest` is what follows the separator.
std::string take_first(std::string_view choice, std::optional<std::string_view>& rest) {
  std::string first;
  for (std::size_t at = 0; at < choice.size(); ++at) {
    if (choice[at] == '>' && choice.substr(at, 2) != ">>") {
      rest = choice.substr(at + 1);
      return first;
    }
    if (choice[at] == '>') ++at;
    first += choice[at];
  }
  rest.reset();
  return first;
}

// Where the words for the kernel begin in a line that starts Linux, behind the kernel's path.
std::optional<std::size_t> find_kernel_words(std::string_view line) {
  constexpr std::array commands = {"linux", "linux16", "linuxefi"};
  const auto words = split_words(line);
  const bool is_linux =
      words.size() >= 2 && std::find(commands.begin(), commands.end(), words[0]) != commands.end();
  if (!is_linux) return std::nullopt;
  return static_cast<std::size_t>(words[1].data() + words[1].size() - line.data());
}

}  // namespace

std::vector<MenuEntry> parse_grub_menu(std::string_view config) {
  return MenuReader(config).read(false);
}

std::optional<std::string> find_default_choice(std::string_view config) {
  std::optional<std::string> choice;
  for (const std::string_view raw : split_lines(config)) {
    const std::string_view line = trim(raw);
    if (opens(line, "menuentry") || opens(line, "submenu")) break;
    // Fedora's 08_fallback_counting sets another one, for systems that count failed boots.
    if (choice && line.starts_with("### END /etc/grub.d/00_header")) break;
    if (!line.starts_with("set default=")) continue;
    const auto words = facts::split_shell_words(line.substr(4));
    if (words.empty()) continue;
    std::string value = words[0].text.substr(std::string_view("default=").size());
    if (value.find("next_entry") == std::string::npos) choice = std::move(value);
  }
  return choice;
}

const MenuEntry* find_menu_entry(const std::vector<MenuEntry>& menu, std::string_view choice) {
  std::optional<std::string_view> rest;
  const std::string first = take_first(choice, rest);
  const auto number = parse_u64(first);
  const MenuEntry* found = nullptr;
  if (number && *number < menu.size()) found = &menu[*number];
  for (const MenuEntry& entry : menu) {
    if (found == nullptr && !number && (entry.title == first || entry.id == first)) found = &entry;
  }
  if (found == nullptr) return nullptr;
  if (rest) return found->submenu ? find_menu_entry(found->entries, *rest) : nullptr;
  return found->submenu ? nullptr : found;
}

const MenuEntry* find_default_entry(const facts::BootSetup& boot, std::string_view config,
                                    const std::vector<MenuEntry>& menu) {
  const auto choice = find_default_choice(config);
  if (!choice) return nullptr;
  if (choice->find("saved_entry") == std::string::npos) return find_menu_entry(menu, *choice);
  const std::string saved = environment_value(boot, "saved_entry").value_or("");
  return find_menu_entry(menu, saved.empty() ? "0" : saved);
}

std::string find_default_name(const facts::BootSetup& boot) {
  const facts::ConfigFile* config = boot.file(boot.grub_config);
  const auto choice = config == nullptr ? std::nullopt : find_default_choice(config->text);
  const bool is_saved = !choice || choice->find("saved_entry") != std::string::npos;
  return is_saved ? environment_value(boot, "saved_entry").value_or("") : *choice;
}

std::optional<std::string> menu_command_line(std::string_view body) {
  for (const std::string_view line : split_lines(body)) {
    if (const auto begin = find_kernel_words(line)) return std::string(trim(line.substr(*begin)));
  }
  return std::nullopt;
}

std::optional<std::string> edit_menu_body(std::string_view body, const ArgumentChange& change) {
  std::string edited;
  bool starts_linux = false;
  for (const std::string_view line : split_lines(body)) {
    const auto words = split_words(line);
    if (words.size() == 1 && words[0] == "savedefault") continue;
    const auto begin = find_kernel_words(line);
    if (!begin) {
      edited += std::string(line) + "\n";
      continue;
    }
    starts_linux = true;
    const std::string changed = edit_words(line.substr(*begin), change);
    const bool glued = !changed.empty() && changed[0] != ' ' && changed[0] != '\t';
    edited += std::string(line.substr(0, *begin)) + (glued ? " " : "") + changed + "\n";
  }
  if (!starts_linux) return std::nullopt;
  return edited;
}

}  // namespace headroom::plan
