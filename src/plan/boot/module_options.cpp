// SPDX-License-Identifier: Apache-2.0
// Parameters in /etc/modprobe.d. A file of the distribution under /usr/lib is never edited: its
// copy of the same name in /etc takes its place, as modprobe.d(5) has it.
#include "plan/boot/module_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "facts/options_in_force.h"
#include "findings/advice.h"
#include "plan/boot/initramfs.h"
#include "plan/boot/modprobe_files.h"
#include "plan/boot/next_boot.h"
#include "plan/boot/rescue.h"

namespace headroom::plan {
namespace {

constexpr std::string_view own_header =
    "# Written by headroom; \"headroom history\" says when and why.\n";

// What a file is to become: where it is written, and from what.
struct Draft {
  const facts::ConfigFile* from = nullptr;  // nullptr: a new file.
  std::string text;
};
using Drafts = std::map<std::string, Draft>;  // By the path that is written.

std::string path_to_write(const facts::ConfigFile& file) {
  if (file.path.starts_with("/etc/")) return file.path;
  return "/etc/modprobe.d/" + file.path.substr(file.path.rfind('/') + 1);
}

Draft& draft_of(Drafts& drafts, const facts::ConfigFile& file) {
  return drafts.try_emplace(path_to_write(file), Draft{&file, file.text}).first->second;
}

// Edits the files that set it; false where none does.
bool edit_where_set(Drafts& drafts, const facts::BootSetup& boot, const ParameterChange& change) {
  std::vector<const facts::ConfigFile*> setting;
  for (const facts::ConfigFile* file : modprobe_files(boot)) {
    if (sets_parameter(file->text, change)) setting.push_back(file);
  }
  for (const facts::ConfigFile* file : setting) {
    // The last one read has the last word, so it keeps the setting.
    const bool keeps = file == setting.back();
    Draft& draft = draft_of(drafts, *file);
    ParameterChange edit = change;
    if (!keeps) edit.value.reset();
    draft.text = edit_parameter(draft.text, edit);
  }
  return !setting.empty();
}

Step make_step(const std::string& path, const Draft& draft) {
  FileEdit edit{path, std::nullopt, draft.text, std::nullopt};
  Step step{StepKind::module_option, "", "", {}, {}, true};
  if (draft.from == nullptr) {
    step.what = "Write the module parameters to " + path;
  } else if (draft.from->path == path) {
    edit.before = draft.from->text;
    step.what = "Edit the module parameters in " + path;
  } else {
    step.what =
        fmt::format("Edit the module parameters of {} in a copy, {}", draft.from->path, path);
    step.why = "A file in /etc/modprobe.d replaces the distribution's file with the same name.";
  }
  // Our own file goes once it has nothing left to say.
  if (path == own_options_path && draft.text == own_header) edit.after.reset();
  step.action = std::move(edit);
  return step;
}

// The files are as they should be, and this boot is not. An image that was built before somebody
// edited them makes the next boot like this one, so what was not seen in the image is put into it.
std::vector<std::string> files_not_in_image(const facts::MachineFacts& machine,
                                            const std::vector<ParameterChange>& changes) {
  std::set<std::string> files;
  for (const ParameterChange& change : changes) {
    const facts::ModuleOption* option = machine.option(change.module, change.key);
    if (!change.value || option == nullptr || is_kernel_argument(*option)) continue;
    if (!facts::is_in_initramfs(machine, *option)) files.insert(option->source.path);
  }
  return {files.begin(), files.end()};
}

}  // namespace

ModuleFileEdits edit_module_files(const facts::BootSetup& boot,
                                  const std::vector<ParameterChange>& changes) {
  Drafts drafts;
  std::vector<ParameterChange> fresh;
  for (const ParameterChange& change : changes) {
    if (!edit_where_set(drafts, boot, change) && change.value) fresh.push_back(change);
  }
  if (!fresh.empty()) {
    const std::string path(own_options_path);
    const facts::ConfigFile* own = boot.file(path);
    Draft& draft =
        own == nullptr
            ? drafts.try_emplace(path, Draft{nullptr, std::string(own_header)}).first->second
            : draft_of(drafts, *own);
    draft.text = append_options(draft.text, fresh);
  }
  ModuleFileEdits edits;
  for (const auto& [path, draft] : drafts) {
    if (draft.from != nullptr && draft.text == draft.from->text) continue;
    edits.steps.push_back(make_step(path, draft));
    if (std::get<FileEdit>(edits.steps.back().action).after) edits.files.push_back(path);
  }
  return edits;
}

std::vector<Step> initramfs_or_by_hand(const BootSubject& subject,
                                       const std::vector<std::string>& files) {
  auto images = plan_initramfs(subject.boot, files);
  if (images) return *std::move(images);
  const std::string usual = findings::usual_initramfs_command(subject.machine);
  const Instruction by_hand{
      usual.empty()
          ? fmt::format("headroom found no tool for it here. By hand: {}.", images.error().next)
          : fmt::format("headroom found no tool for it here. This distribution's own: {}", usual)};
  return {{StepKind::by_hand,
           "Rebuild the initramfs",
           "The driver may be loaded from the initramfs, with the old parameters.",
           by_hand,
           {},
           true}};
}

Result<BootSteps> plan_module_options(const BootSubject& subject,
                                      const std::vector<ParameterChange>& changes) {
  if (subject.boot.image_based) {
    return Error{Errc::unsupported,
                 "expected a system whose files and initramfs can be changed; the image of this "
                 "system is read-only or built elsewhere",
                 "set the parameters on the kernel command line: --via kernel"};
  }
  ModuleFileEdits edits = edit_module_files(subject.boot, changes);
  BootSteps steps;
  if (edits.steps.empty()) {
    edits.files = files_not_in_image(subject.machine, changes);
    if (edits.files.empty()) return steps;
  }
  steps.steps = std::move(edits.steps);
  for (Step& step : initramfs_or_by_hand(subject, edits.files)) {
    steps.steps.push_back(std::move(step));
  }
  steps.fallback = BootFallback::by_hand;
  steps.rescue.push_back(std::string(grub_or_menu_keys(subject.boot)) +
                         ", add modprobe.blacklist=amdgpu to the kernel's line, and boot. The "
                         "machine then runs without the GPU driver.");
  for (std::string& line : rescue_by_undo()) steps.rescue.push_back(std::move(line));
  return steps;
}

}  // namespace headroom::plan
