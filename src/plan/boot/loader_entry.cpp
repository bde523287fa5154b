// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/loader_entry.h"

#include <algorithm>

#include "base/text.h"
#include "plan/boot/command_line_words.h"

namespace headroom::plan {
namespace {

// Where the value of a line stands, if the line has that key.
std::optional<WordSpan> find_value(std::string_view text, WordSpan line, std::string_view key) {
  const std::string_view whole = text.substr(line.begin, line.end - line.begin);
  const std::size_t begin = std::min(whole.find_first_not_of(" \t"), whole.size());
  const std::size_t end = std::min(whole.find_first_of(" \t\r", begin), whole.size());
  if (whole.substr(begin, end - begin) != key) return std::nullopt;
  const std::size_t first = whole.find_first_not_of(" \t\r", end);
  if (first == std::string_view::npos) return WordSpan{line.begin + end, line.begin + end};
  const std::size_t last = whole.find_last_not_of(" \t\r");
  return WordSpan{line.begin + first, line.begin + last + 1};
}

std::vector<WordSpan> find_values(std::string_view text, std::string_view key) {
  std::vector<WordSpan> values;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (const auto value = find_value(text, {begin, end}, key)) values.push_back(*value);
    begin = end + 1;
  }
  return values;
}

std::string_view at(std::string_view text, WordSpan span) {
  return text.substr(span.begin, span.end - span.begin);
}

void replace_value(std::string& text, WordSpan span, std::string_view value) {
  const bool glued = span.begin == span.end && !value.empty();
  text.replace(span.begin, span.end - span.begin, (glued ? " " : "") + std::string(value));
}

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string root_of(const facts::ConfigFile& entry) {
  const auto words = find_arguments(entry_options(entry.text), "root");
  return words.empty() ? "" : words.back();
}

}  // namespace

std::vector<const facts::ConfigFile*> linux_entries(const facts::BootSetup& boot) {
  std::vector<const facts::ConfigFile*> entries;
  if (boot.entries.empty()) return entries;
  for (const facts::ConfigFile& file : boot.files) {
    // By the name in that folder: ostree's is below a link that it moves with each deployment.
    const std::string name = file.path.substr(file.path.rfind('/'));
    const bool inside = name.ends_with(".conf") && boot.file(boot.entries + name) == &file;
    if (inside && entry_value(file.text, "linux")) entries.push_back(&file);
  }
  std::sort(entries.begin(), entries.end(),
            [](const auto* a, const auto* b) { return a->path < b->path; });
  return entries;
}

std::optional<std::string_view> entry_value(std::string_view entry, std::string_view key) {
  const std::vector<WordSpan> values = find_values(entry, key);
  if (values.empty()) return std::nullopt;
  return at(entry, values[0]);
}

std::string entry_options(std::string_view entry) {
  std::vector<std::string> lines;
  for (const WordSpan value : find_values(entry, "options")) lines.emplace_back(at(entry, value));
  return join(lines, " ");
}

std::string with_entry_value(std::string_view entry, std::string_view key, std::string_view value) {
  std::string text(entry);
  const std::vector<WordSpan> values = find_values(entry, key);
  if (!values.empty()) {
    replace_value(text, values[0], value);
    return text;
  }
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  return text + std::string(key) + " " + std::string(value) + "\n";
}

std::string edit_entry(std::string_view entry, const ArgumentChange& change) {
  std::string text(entry);
  const std::vector<WordSpan> values = find_values(entry, "options");
  if (values.empty()) {
    const std::string words = edit_words("", change);
    return words.empty() ? text : with_entry_value(entry, "options", words);
  }
  std::vector<ArgumentChange> edits(values.size(), ArgumentChange{{}, change.drop});
  for (const std::string& word : change.set) {
    std::size_t home = values.size() - 1;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!find_arguments(at(entry, values[i]), argument_name(word)).empty()) home = i;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i == home) edits[i].set.push_back(word);
      if (i != home) edits[i].drop.push_back(argument_name(word));
    }
  }
  for (std::size_t i = values.size(); i-- > 0;) {  // From the end, so that places stay right.
    replace_value(text, values[i], edit_words(at(entry, values[i]), edits[i]));
  }
  return text;
}

bool starts_kernel(const facts::ConfigFile& entry, const facts::InstalledKernel& kernel) {
  if (kernel.version.empty()) return false;
  if (entry_value(entry.text, "version") == kernel.version ||
      entry_value(entry.text, "linux").value_or("").find(kernel.version) !=
          std::string_view::npos ||
      entry_id(entry.path).find(kernel.version) != std::string::npos) {
    return true;
  }
  const std::vector<WordSpan> images = find_values(entry.text, "initrd");
  return !kernel.initramfs.empty() &&
         std::any_of(images.begin(), images.end(), [&](WordSpan image) {
           return file_name(at(entry.text, image)) == file_name(kernel.initramfs);
         });
}

std::vector<const facts::ConfigFile*> own_entries(const facts::BootSetup& boot,
                                                  const facts::ConfigFile* running) {
  std::vector<const facts::ConfigFile*> own;
  for (const facts::ConfigFile* entry : linux_entries(boot)) {
    const bool ours = running == nullptr || root_of(*entry) == root_of(*running);
    if (ours && !is_fallback_entry(*entry)) own.push_back(entry);
  }
  return own;
}

std::vector<std::string> files_loaded(const facts::BootSetup& boot, const facts::ConfigFile& entry,
                                      const std::vector<std::string>& keys) {
  constexpr std::string_view folder = "/loader/entries";
  std::vector<std::string> files;
  if (!boot.entries.ends_with(folder)) return files;
  const std::string partition = boot.entries.substr(0, boot.entries.size() - folder.size());
  for (const std::string& key : keys) {
    for (const WordSpan value : find_values(entry.text, key)) {
      const std::string_view path = at(entry.text, value);
      if (path.starts_with('/')) files.push_back(partition + std::string(path));
    }
  }
  return files;
}

std::vector<std::string> files_loaded(const facts::BootSetup& boot,
                                      const std::vector<std::string>& keys) {
  std::vector<std::string> files;
  for (const facts::ConfigFile* entry : linux_entries(boot)) {
    for (std::string& path : files_loaded(boot, *entry, keys)) files.push_back(std::move(path));
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

std::string entry_id(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.ends_with(".conf")) name.remove_suffix(5);
  const std::size_t plus = name.rfind('+');
  const bool counted = plus != std::string_view::npos && plus + 1 < name.size() &&
                       name.find_first_not_of("0123456789-", plus + 1) == std::string_view::npos;
  return std::string(counted ? name.substr(0, plus) : name);
}

const facts::ConfigFile* loader_configuration(const facts::BootSetup& boot) {
  const std::string folder = boot.entries.substr(0, boot.entries.rfind('/'));
  return boot.file(folder + "/loader.conf");
}

std::optional<std::string_view> last_value(std::string_view text, std::string_view key) {
  const std::vector<WordSpan> values = find_values(text, key);
  if (values.empty()) return std::nullopt;
  return at(text, values.back());
}

bool is_trial_entry(const facts::ConfigFile& entry) {
  return entry.path.ends_with(trial_entry_end) || file_name(entry.path) == systemd_trial_file;
}

const facts::ConfigFile* find_named_entry(const facts::BootSetup& boot, std::string_view name) {
  for (const facts::ConfigFile* entry : linux_entries(boot)) {
    const bool meant = entry_id(entry->path) == name || entry_value(entry->text, "title") == name;
    if (meant && !is_trial_entry(*entry)) return entry;
  }
  return nullptr;
}

const facts::ConfigFile* find_running_entry(const facts::BootSetup& boot) {
  const facts::InstalledKernel* running = nullptr;
  for (const facts::InstalledKernel& kernel : boot.kernels) {
    if (kernel.running) running = &kernel;
  }
  std::vector<const facts::ConfigFile*> of_running;
  std::vector<const facts::ConfigFile*> usual;
  for (const facts::ConfigFile* entry : linux_entries(boot)) {
    if (is_fallback_entry(*entry) || is_trial_entry(*entry)) continue;
    usual.push_back(entry);
    if (running != nullptr && starts_kernel(*entry, *running)) of_running.push_back(entry);
  }
  if (of_running.size() == 1) return of_running[0];
  return usual.size() == 1 ? usual[0] : nullptr;
}

bool is_fallback_entry(const facts::ConfigFile& entry) {
  const std::string name = to_lower(entry_id(entry.path));
  const std::string title = to_lower(entry_value(entry.text, "title").value_or(""));
  for (const char* word : {"fallback", "rescue", "recovery"}) {
    if (name.find(word) != std::string::npos || title.find(word) != std::string::npos) return true;
  }
  return false;
}

}  // namespace headroom::plan
