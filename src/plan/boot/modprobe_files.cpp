// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/modprobe_files.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "plan/boot/command_line_words.h"

namespace headroom::plan {
namespace {

struct OptionWord {
  WordSpan word;
  WordSpan line;       // Of the whole statement, with its end.
  std::size_t of = 0;  // How many settings its line has.
  std::string value;   // As written.
};

bool same_name(std::string_view a, std::string_view b) {
  return argument_name(a) == argument_name(b);
}

bool is_blank(std::string_view text, std::size_t at) {
  return text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n' ||
         text.substr(at, 2) == "\\\n";
}

// A line with those that it is continued on; libkmod joins before it looks for a "#".
std::size_t end_of_statement(std::string_view text, std::size_t begin) {
  for (std::size_t at = begin;;) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) return text.size();
    if (end == begin || text[end - 1] != '\\') return end + 1;
    at = end + 1;
  }
}

std::vector<WordSpan> split_statement(std::string_view text, WordSpan line) {
  std::vector<WordSpan> words;
  for (std::size_t at = line.begin; at < line.end;) {
    if (is_blank(text, at)) {
      at += text[at] == '\\' ? 2 : 1;
      continue;
    }
    const std::size_t begin = at;
    bool quoted = false;
    while (at < line.end && (quoted || !is_blank(text, at))) {
      if (at + 1 == line.end && text[at] == '\n') break;  // A quote that nobody closed ends here.
      if (text[at] == '"') quoted = !quoted;
      ++at;
    }
    words.push_back({begin, at});
  }
  return words;
}

// Every word that sets the parameter, in order.
std::vector<OptionWord> find_option_words(std::string_view text, const ParameterChange& wanted) {
  std::vector<OptionWord> found;
  const auto at = [&](WordSpan span) { return text.substr(span.begin, span.end - span.begin); };
  for (std::size_t begin = 0; begin < text.size();) {
    const WordSpan line{begin, end_of_statement(text, begin)};
    begin = line.end;
    const std::vector<WordSpan> words = split_statement(text, line);
    if (words.size() < 3 || at(words[0]) != "options") continue;
    if (!same_name(at(words[1]), wanted.module)) continue;
    for (std::size_t i = 2; i < words.size(); ++i) {
      const std::string_view word = at(words[i]);
      if (!same_name(word, wanted.key)) continue;
      const std::size_t equals = std::min(word.find('='), word.size() - 1);
      found.push_back({words[i], line, words.size() - 2, std::string(word.substr(equals + 1))});
    }
  }
  return found;
}

// A word with the blanks before it.
WordSpan with_blanks(std::string_view text, const OptionWord& option) {
  std::size_t begin = option.word.begin;
  while (begin > option.line.begin &&
         (is_blank(text, begin - 1) || (text[begin - 1] == '\\' && text[begin] == '\n'))) {
    --begin;
  }
  return {begin, option.word.end};
}

// The text without these words, which are in order; a line that has no other setting goes whole.
std::string erase_options(std::string_view text, const std::vector<OptionWord>& options) {
  std::string left;
  std::size_t done = 0;
  const auto skip = [&](WordSpan span) {
    left += text.substr(done, span.begin - done);
    done = span.end;
  };
  for (std::size_t i = 0; i < options.size();) {
    std::size_t next = i;
    while (next < options.size() && options[next].line.begin == options[i].line.begin) ++next;
    if (next - i == options[i].of) {
      skip(options[i].line);
    } else {
      for (std::size_t one = i; one < next; ++one) skip(with_blanks(text, options[one]));
    }
    i = next;
  }
  return left += text.substr(done);
}

}  // namespace

std::vector<const facts::ConfigFile*> modprobe_files(const facts::BootSetup& boot) {
  constexpr std::array folders = {"/etc/modprobe.d/", "/run/modprobe.d/",
                                  "/usr/local/lib/modprobe.d/", "/usr/lib/modprobe.d/",
                                  "/lib/modprobe.d/"};
  std::map<std::string, const facts::ConfigFile*> by_name;
  for (const std::string_view folder : folders) {
    for (const facts::ConfigFile& file : boot.files) {
      if (!file.path.starts_with(folder) || !file.path.ends_with(".conf")) continue;
      by_name.emplace(file.path.substr(folder.size()), &file);  // The first one stays.
    }
  }
  std::vector<const facts::ConfigFile*> files;
  for (const auto& [name, file] : by_name) files.push_back(file);
  return files;
}

bool sets_parameter(std::string_view text, const ParameterChange& parameter) {
  return !find_option_words(text, parameter).empty();
}

std::string value_in_files(const facts::BootSetup& boot, const ParameterChange& parameter) {
  std::string value;
  for (const facts::ConfigFile* file : modprobe_files(boot)) {
    const auto words = find_option_words(file->text, parameter);
    if (!words.empty()) value = words.back().value;
  }
  return value;
}

std::string edit_parameter(std::string_view text, const ParameterChange& change) {
  std::vector<OptionWord> found = find_option_words(text, change);
  if (found.empty() || !change.value) return erase_options(text, found);
  // The last one counts, and it alone stays.
  const WordSpan last = found.back().word;
  found.pop_back();
  std::string edited = erase_options(text.substr(0, last.begin), found);
  edited += change.key + "=" + *change.value;
  return edited += text.substr(last.end);
}

std::string append_options(std::string_view text, const std::vector<ParameterChange>& changes) {
  std::string edited(text);
  if (!edited.empty() && !edited.ends_with('\n')) edited += '\n';
  std::vector<std::string> modules;
  for (const ParameterChange& change : changes) {
    const bool known = std::find(modules.begin(), modules.end(), change.module) != modules.end();
    if (!known) modules.push_back(change.module);
  }
  for (const std::string& module : modules) {
    edited += "options " + module;
    for (const ParameterChange& change : changes) {
      if (change.module == module) edited += " " + change.key + "=" + change.value.value_or("");
    }
    edited += '\n';
  }
  return edited;
}

}  // namespace headroom::plan
