// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/kernel_cmdline_file.h"

#include <algorithm>

#include "base/text.h"
#include "plan/boot/command_line_words.h"

namespace headroom::plan {
namespace {

struct Line {
  std::string text;  // With its end.
  bool counts = false;
};

std::vector<Line> split_with_ends(std::string_view text) {
  std::vector<Line> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const std::string_view line = text.substr(begin, end - begin);
    const std::string_view words = trim(line);
    lines.push_back({std::string(line), !words.empty() && !words.starts_with('#')});
    begin = end;
  }
  return lines;
}

}  // namespace

std::string edit_cmdline_text(std::string_view text, const ArgumentChange& change) {
  std::vector<Line> lines = split_with_ends(text);
  const auto first =
      std::find_if(lines.begin(), lines.end(), [](const Line& line) { return line.counts; });
  if (first == lines.end()) {
    return std::string(text) + (text.empty() || text.ends_with('\n') ? "" : "\n") +
           edit_words("", change) + (change.set.empty() ? "" : "\n");
  }
  for (auto line = lines.begin(); line != lines.end(); ++line) {
    if (!line->counts) continue;
    ArgumentChange edit{{}, change.drop};
    for (const std::string& word : change.set) {
      if (line == first) {
        edit.set.push_back(word);
      } else {
        edit.drop.push_back(argument_name(word));
      }
    }
    line->text = edit_words(line->text, edit);
    if (!line->text.ends_with('\n') && line + 1 != lines.end()) line->text += '\n';
  }
  std::string edited;
  for (const Line& line : lines) edited += line.text;
  return edited;
}

std::optional<Step> edit_kernel_cmdline(const facts::BootSetup& boot,
                                        const ArgumentChange& change) {
  const facts::ConfigFile* file = boot.file(kernel_cmdline_path);
  if (file == nullptr) return std::nullopt;
  const std::string edited = edit_cmdline_text(file->text, change);
  if (edited == file->text) return std::nullopt;
  return Step{StepKind::kernel_argument,
              "Edit the kernel command line in " + file->path,
              "Boot entries of later kernels take it from there.",
              FileEdit{file->path, file->text, edited, std::nullopt},
              {},
              true};
}

}  // namespace headroom::plan
