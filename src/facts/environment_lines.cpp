// SPDX-License-Identifier: Apache-2.0
#include "facts/environment_lines.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace headroom::facts {
namespace {

// Commands that run the rest of their line as a command.
constexpr std::array wrappers = {"env", "sudo", "nohup", "exec", "time", "nice", "command"};
constexpr std::array engines = {"docker", "podman", "nerdctl", "docker-compose", "podman-compose"};
constexpr std::array modules = {"amdgpu", "ttm", "amdttm"};

template <class List>
bool contains(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::string_view program_name(std::string_view word) {
  return word.substr(word.rfind('/') + 1);
}

// YAML's scalar: what is in quotes, or the text up to a comment.
std::string_view without_comment(std::string_view text) {
  text = trim(text);
  if (text.starts_with('"') || text.starts_with('\'')) {
    return text.substr(1, text.find(text[0], 1) - 1);
  }
  return trim(text.substr(0, text.find(" #")));
}

// "Key = value" of a unit: the value, or nothing for another key.
std::optional<std::string_view> unit_value(std::string_view line, std::string_view key) {
  line = trim(line);
  if (!line.starts_with(key)) return std::nullopt;
  line = trim(line.substr(key.size()));
  if (!line.starts_with('=')) return std::nullopt;
  return trim(line.substr(1));
}

// The text between the first pair of quotes at or after `from`; `from` moves behind it.
std::optional<std::string> quoted_text(std::string_view line, std::size_t& from) {
  const std::size_t begin = line.find_first_of("\"'", from);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = line.find(line[begin], begin + 1);
  if (end == std::string_view::npos) return std::nullopt;
  from = end + 1;
  return std::string(line.substr(begin + 1, end - begin - 1));
}

// A kernel command line, whose words a shell would take for assignments.
bool is_boot_line(const std::vector<Word>& words) {
  return std::any_of(words.begin(), words.end(), [](const Word& word) {
    return word.text == "ro" || word.text == "rw" || word.text == "quiet" ||
           word.text.starts_with("BOOT_IMAGE=");
  });
}

}  // namespace

bool is_unit_line(std::string_view line) {
  for (const char* key : {"Environment", "UnsetEnvironment", "ExecStart", "PodmanArgs"}) {
    if (unit_value(line, key)) return true;
  }
  return false;
}

void SnippetReader::read(const LogicalLine& line) {
  line_ = line.number;
  const std::string_view content = trim(line.text);
  if (content.starts_with('[') && content.ends_with(']') &&
      content.find_first_of(" =") == std::string_view::npos) {
    is_unit_ = true;
  }
  if (read_unit(line.text) || is_unit_) return;
  if (read_block(line.text) || read_python(line.text)) return;
  const Words words = split_shell_words(line.text);
  if (words.empty() || read_dockerfile(words) || read_module_options(words)) return;
  read_commands(words);
}

std::vector<Setting> SnippetReader::finish() {
  for (Setting& setting : settings_) {
    // Nothing but assignments is an .env file, or a list of what is set.
    if (!is_shell_) setting.exported = true;
  }
  return std::move(settings_);
}

// "environment:" or "env:" and what is indented below it, as list or as map.
bool SnippetReader::read_block(std::string_view line) {
  const std::string_view content = trim(line);
  const std::size_t indent = line.find_first_not_of(" \t");
  if (content.empty() || content.starts_with('#')) return in_block_;
  if (content == "environment:" || content == "env:") {
    in_block_ = true;
    block_indent_ = indent;
    block_name_.clear();
    return true;
  }
  const bool item = content.starts_with("- ");
  if (in_block_ && (indent < block_indent_ || (indent == block_indent_ && !item))) {
    in_block_ = false;
  }
  if (!in_block_) return false;
  const std::string_view entry = item ? trim(content.substr(2)) : content;
  const std::string_view plain = without_comment(entry);
  const std::size_t colon = entry.find(": ");
  if (assigned_name_length(plain) != 0 && (item || colon == std::string_view::npos)) {
    add(plain, Form::compose_list, true);
  } else if (colon != std::string_view::npos) {
    const std::string_view key = trim(entry.substr(0, colon));
    const std::string value(without_comment(entry.substr(colon + 2)));
    if (key == "name") {
      block_name_ = value;
    } else if (block_name_.empty()) {
      add(std::string(key), value, Form::compose, true);
    } else if (key == "value") {
      add(std::exchange(block_name_, ""), value, Form::compose, true);
    }
  }
  return true;
}

bool SnippetReader::read_unit(std::string_view line) {
  if (const auto value = unit_value(line, "Environment")) {
    if (value->empty()) {  // systemd: an empty one takes the earlier ones back.
      std::erase_if(settings_, [](const Setting& one) { return one.form == Form::unit; });
    }
    for (const Word& word : split_shell_words(*value)) add(word.text, Form::unit, true);
    return true;
  }
  if (const auto value = unit_value(line, "UnsetEnvironment")) {
    for (const Word& word : split_shell_words(*value)) remove(word.text);
    return true;
  }
  for (const char* key : {"ExecStart", "PodmanArgs"}) {
    const auto value = unit_value(line, key);
    if (!value) continue;
    Words words = split_shell_words(*value);
    if (key == std::string_view("PodmanArgs")) {
      read_container_options(words, 0);
    } else {
      read_commands(words);
    }
    return true;
  }
  return false;
}

// os.environ["NAME"] = "VALUE" and os.environ.setdefault("NAME", "VALUE").
bool SnippetReader::read_python(std::string_view line) {
  const std::size_t at = line.find("os.environ");
  if (at == std::string_view::npos || trim(line).starts_with('#')) return false;
  const std::string_view rest = line.substr(at + 10);
  const bool sets = rest.starts_with('[') || rest.starts_with(".setdefault(");
  std::size_t from = at;
  const auto name = quoted_text(line, from);
  if (!sets || !name) return true;
  const std::size_t behind = line.find_first_not_of(" ]\t", from);
  const bool assigns =
      behind != std::string_view::npos &&
      (line[behind] == ',' || (line[behind] == '=' && line.substr(behind, 2) != "=="));
  if (!assigns) return true;
  const auto value = quoted_text(line, from);
  if (value) add(*name, *value, Form::bare, true);
  return true;
}

// ENV A=B C=D, and the older ENV A B.
bool SnippetReader::read_dockerfile(const Words& words) {
  if (words[0].text != "ENV" || words.size() < 2) return false;
  if (assigned_name_length(words[1].text) == 0) {
    std::vector<std::string> rest;
    for (std::size_t i = 2; i < words.size(); ++i) rest.push_back(words[i].text);
    add(words[1].text, join(rest, " "), Form::dockerfile, true);
    return true;
  }
  for (std::size_t i = 1; i < words.size(); ++i) add(words[i].text, Form::dockerfile, true);
  return true;
}

// modprobe.d's "options MODULE key=value …", and the modprobe command.
bool SnippetReader::read_module_options(const Words& words) {
  std::size_t at = words[0].text == "sudo" ? 1 : 0;
  if (at >= words.size()) return false;
  const std::string_view command = program_name(words[at].text);
  if (command != "options" && command != "modprobe") return false;
  while (++at < words.size() && words[at].text.starts_with('-')) {
  }
  if (at >= words.size()) return true;
  std::string module = words[at].text;
  if (!contains(modules, module)) return true;
  while (++at < words.size() && !words[at].separator) {
    const std::string& word = words[at].text;
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    add(module + "." + word.substr(0, equals), word.substr(equals + 1), Form::modprobe, true);
  }
  return true;
}

void SnippetReader::read_commands(const Words& words) {
  Words command;
  for (const Word& word : words) {
    if (!word.separator) {
      command.push_back(word);
      continue;
    }
    read_command(command);
    command.clear();
  }
  read_command(command);
}

void SnippetReader::read_command(const Words& words) {
  if (depth_ == 0) {
    for (const Word& word : words) find_boot_words(word.text);
  }
  if (is_boot_line(words)) return;
  std::size_t at = 0;
  std::vector<std::string_view> assigned;
  const auto collect = [&] {
    while (at < words.size() && assigned_name_length(words[at].text) != 0) {
      assigned.push_back(words[at++].text);
    }
  };
  if (at < words.size() && words[at].text == "$") ++at;  // A prompt that was copied too.
  collect();
  while (at < words.size() && contains(wrappers, program_name(words[at].text))) {
    is_shell_ = true;
    ++at;
    while (at < words.size() && words[at].text.starts_with('-')) ++at;
    collect();
  }
  const bool alone = at >= words.size();
  for (const std::string_view one : assigned) {
    add(one, alone ? Form::bare : Form::shell, !alone || export_all_);
  }
  if (alone) return;
  const std::string_view name = program_name(words[at].text);
  const bool boot_line = words[at].text.find('.') != std::string::npos &&
                         words[at].text.find('=') != std::string::npos;
  if (!boot_line) is_shell_ = true;
  if (name == "export" || name == "declare" || name == "typeset") read_export(words, at + 1);
  if (name == "unset") {
    for (std::size_t i = at + 1; i < words.size(); ++i) remove(words[i].text);
  }
  if (name == "set") read_set(words, at + 1);
  if (name == "setenv" && at + 2 < words.size()) {
    add(words[at + 1].text, words[at + 2].text, Form::shell, true);
  }
  if (contains(engines, name)) read_container_options(words, at + 1);
  if (name == "echo" && depth_ == 0) {
    ++depth_;  // What is written into some file: one level is enough for people.
    for (std::size_t i = at + 1; i < words.size(); ++i) {
      if (words[i].quoted) read({line_, words[i].text});
    }
    --depth_;
  }
}

void SnippetReader::read_export(const Words& words, std::size_t from) {
  for (std::size_t i = from; i < words.size(); ++i) {
    if (assigned_name_length(words[i].text) != 0) {
      add(words[i].text, Form::shell, true);
    } else {
      mark_exported(words[i].text);
    }
  }
}

// -e A=B, -eA=B, --env A=B, --env=A=B.
void SnippetReader::read_container_options(const Words& words, std::size_t from) {
  for (std::size_t i = from; i < words.size(); ++i) {
    const std::string_view word = words[i].text;
    if ((word == "-e" || word == "--env") && i + 1 < words.size()) {
      add(words[++i].text, Form::option, true);
    } else if (word.starts_with("--env=")) {
      add(word.substr(6), Form::option, true);
    } else if (word.starts_with("-e") && !word.starts_with("--")) {
      add(word.substr(2), Form::option, true);
    }
  }
}

// sh: set -a, set -o allexport. fish: set -gx NAME VALUE.
void SnippetReader::read_set(const Words& words, std::size_t from) {
  if (from >= words.size()) return;
  const std::string_view flag = words[from].text;
  const std::string_view next = from + 1 < words.size() ? words[from + 1].text : std::string_view();
  if (flag == "-a" || (flag == "-o" && next == "allexport")) export_all_ = true;
  if (flag == "+a" || (flag == "+o" && next == "allexport")) export_all_ = false;
  const bool fish =
      flag.starts_with('-') && flag.find('x') != std::string_view::npos && from + 2 < words.size();
  if (fish) add(std::string(next), words[from + 2].text, Form::shell, true);
}

// "amdgpu.gttsize=…" wherever it stands: on the command line, in GRUB's settings, in an argument.
void SnippetReader::find_boot_words(std::string_view text) {
  for (std::size_t begin = 0; begin < text.size();) {
    begin = text.find_first_not_of(" \t\"'[]", begin);
    if (begin == std::string_view::npos) return;
    std::size_t end = std::min(text.find_first_of(" \t\"'[]", begin), text.size());
    std::string_view word = text.substr(begin, end - begin);
    begin = end;
    // "--args=ttm.pages_limit=…", "GRUB_CMDLINE_LINUX=quiet": what follows the first "=".
    for (int level = 0; level < 2 && !word.empty(); ++level) {
      const std::size_t equals = word.find('=');
      if (equals == std::string_view::npos) break;
      const std::string_view name = word.substr(0, equals);
      const std::size_t dot = name.find('.');
      const bool parameter =
          dot != std::string_view::npos && contains(modules, name.substr(0, dot));
      if (parameter || contains(boot_words_, name)) {
        std::string plain(name);
        std::replace(plain.begin(), plain.end(), '-', '_');
        add(std::move(plain), std::string(word.substr(equals + 1)), Form::boot, true);
        break;
      }
      word = word.substr(equals + 1);
    }
  }
}

void SnippetReader::add(std::string_view assignment, Form form, bool exported) {
  const std::size_t name = assigned_name_length(assignment);
  if (name == 0) return;
  // On a boot loader's line it is the kernel's word, which find_boot_words has taken.
  if (contains(boot_words_, assignment.substr(0, name))) return;
  add(std::string(assignment.substr(0, name)), std::string(assignment.substr(name + 1)), form,
      exported);
}

void SnippetReader::add(std::string name, std::string value, Form form, bool exported) {
  Setting setting;
  setting.source = {path_, line_, name + "=" + value};
  setting.name = std::move(name);
  setting.value = std::move(value);
  setting.form = form;
  setting.exported = exported;
  settings_.push_back(std::move(setting));
}

void SnippetReader::remove(std::string_view name) {
  is_shell_ = true;
  std::erase_if(settings_, [&](const Setting& setting) { return setting.name == name; });
}

void SnippetReader::mark_exported(std::string_view name) {
  for (Setting& setting : settings_) {
    if (setting.name == name) setting.exported = true;
  }
}

}  // namespace headroom::facts
