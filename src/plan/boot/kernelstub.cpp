// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/kernelstub.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "plan/boot/command_line_words.h"
#include "plan/boot/loader_entry.h"
#include "plan/boot/systemd_boot.h"

namespace headroom::plan {
namespace {

constexpr std::string_view configuration_path = "/etc/kernelstub/configuration";

std::size_t skip_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

// Where the value of a key of the object that begins at `at` stands; text that parses as JSON.
std::optional<WordSpan> find_member(std::string_view text, std::size_t at, std::string_view key) {
  int depth = 0;
  std::size_t begin = std::string_view::npos;
  bool is_key = false;
  for (; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      const std::size_t end = skip_string(text, at);
      if (depth == 1 && begin == std::string_view::npos) {
        is_key = text.substr(at + 1, end - at - 2) == key;
      }
      at = end;
      continue;
    }
    if (depth == 1 && c == ':' && is_key && begin == std::string_view::npos) begin = at + 1;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    const bool ends = (depth == 1 && c == ',') || depth == 0;
    if (ends && begin != std::string_view::npos) {
      const std::string_view value = trim(text.substr(begin, at - begin));
      const auto first = static_cast<std::size_t>(value.data() - text.data());
      return WordSpan{first, first + value.size()};
    }
    if (depth == 0) return std::nullopt;
    ++at;
  }
  return std::nullopt;
}

// A list as it was, with other words: one per line, indented as its first one, or all in one.
std::string write_list(std::string_view old, const std::vector<std::string>& words) {
  const std::size_t line = old.find('\n');
  std::string indent;
  if (line != std::string_view::npos) {
    const std::size_t end = old.find_first_not_of(" \t\r\n", line);
    indent = std::string(old.substr(line, end == std::string_view::npos ? 1 : end - line));
  }
  const std::size_t closing = old.find_last_not_of(" \t\r\n", old.size() - 2) + 1;
  std::string text = "[";
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += indent.empty() ? ", " : ",";
    text += indent + nlohmann::json(words[i]).dump();
  }
  return text + std::string(old.substr(closing));
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> words;
  for (const WordSpan span : find_words(text)) {
    words.emplace_back(text.substr(span.begin, span.end - span.begin));
  }
  return words;
}

Step write_entries(const facts::BootSetup& boot, const ArgumentChange& change) {
  Command write;
  write.argv = {"kernelstub"};
  write.edits = {std::string(configuration_path)};
  const std::string folder = boot.entries.empty() ? "/boot/efi/loader/entries" : boot.entries;
  write.generates = {folder + "/*.conf"};
  // It copies kernels and images as well, and the words once more beside them.
  for (std::string& copy : files_loaded(boot, {"linux", "initrd"})) {
    std::string words = copy.substr(0, copy.rfind('/')) + "/cmdline";
    for (std::string* path : {&copy, &words}) {
      if (std::find(write.generates.begin(), write.generates.end(), *path) ==
          write.generates.end()) {
        write.generates.push_back(*path);
      }
    }
  }
  write.undo = write.argv;
  write.undo_run = UndoRun::if_changed;
  Step step{StepKind::kernel_argument, "Write the boot entries again", "", write, {}, true};
  for (const std::string& word : change.set) {
    step.expects.push_back(
        {Expectation::Kind::file_contains, folder + "/Pop_OS-current.conf", word});
  }
  for (const std::string& name : change.drop) {
    step.expects.push_back(
        {Expectation::Kind::file_lacks, folder + "/Pop_OS-current.conf", name + "="});
  }
  return step;
}

Error no_list() {
  return {
      Errc::invalid,
      fmt::format("expected a list of words under \"user\", \"kernel_options\" in {}; found none",
                  configuration_path),
      "look at that file; if you remove it, kernelstub writes it again"};
}

}  // namespace

Result<std::string> edit_kernelstub_configuration(std::string_view text,
                                                  const ArgumentChange& change) {
  const auto parsed = nlohmann::json::parse(text, nullptr, false);
  if (!parsed.is_object()) return no_list();
  const auto user = find_member(text, text.find('{'), "user");
  if (!user || text[user->begin] != '{') return no_list();
  const auto list = find_member(text, user->begin, "kernel_options");
  if (!list) return no_list();
  const std::string_view old = text.substr(list->begin, list->end - list->begin);
  const auto value = nlohmann::json::parse(old, nullptr, false);
  if (!value.is_array() ||
      !std::all_of(value.begin(), value.end(), [](const auto& word) { return word.is_string(); })) {
    return no_list();
  }
  // kernelstub joins them with blanks, and so does the edit; empty words it leaves behind itself.
  const std::string line = join(value.get<std::vector<std::string>>(), " ");
  const std::string edited = edit_words(line, change);
  if (edited == line) return std::string(text);
  std::string whole(text);
  whole.replace(list->begin, list->end - list->begin, write_list(old, split_list(edited)));
  return whole;
}

Result<BootSteps> plan_by_kernelstub(const BootSubject& subject, const ArgumentChange& change) {
  const facts::ConfigFile* file = subject.boot.file(configuration_path);
  if (file == nullptr) {
    return Error{
        Errc::unsupported,
        fmt::format(
            "expected kernelstub's settings in {}; the file does not exist, or could not be read",
            configuration_path),
        "run it with sudo, or run \"sudo kernelstub\" once, which writes that file"};
  }
  HEADROOM_TRY(const std::string edited, edit_kernelstub_configuration(file->text, change));
  if (edited == file->text) return BootSteps{};
  std::vector<Step> permanent;
  permanent.push_back({StepKind::kernel_argument,
                       "Edit the kernel command line in " + file->path,
                       "kernelstub generates the boot entries from this file.",
                       FileEdit{file->path, file->text, edited, std::nullopt},
                       {},
                       true});
  permanent.push_back(write_entries(subject.boot, change));
  return with_systemd_boot_trial(subject, change, std::move(permanent));
}

}  // namespace headroom::plan
