// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/initramfs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "facts/shell_words.h"
#include "plan/boot/boot_steps.h"
#include "plan/boot/booted_images.h"
#include "plan/boot/loader_entry.h"
#include "plan/boot/shell_assignments.h"

namespace headroom::plan {
namespace {

constexpr std::string_view dracut_own_path = "/etc/dracut.conf.d/headroom.conf";

// The value that a variable has after the files of one tool were sourced in their order.
std::string sourced_value(const facts::BootSetup& boot, std::string_view main,
                          std::string_view folder, std::string_view name) {
  std::vector<const facts::ConfigFile*> files;
  for (const facts::ConfigFile& file : boot.files) {
    if (file.path.starts_with(folder) && file.path.ends_with(".conf")) files.push_back(&file);
  }
  std::sort(files.begin(), files.end(),
            [](const auto* a, const auto* b) { return a->path < b->path; });
  if (const auto* file = boot.file(main)) files.insert(files.begin(), file);
  std::string value;
  for (const facts::ConfigFile* file : files) {
    for (const Assignment& at : find_assignments(file->text)) {
      if (at.name != name) continue;
      if (!at.appends) value.clear();
      value += unquote_value(std::string_view(file->text).substr(at.begin, at.end - at.begin));
    }
  }
  return value;
}

// "HOOKS=(base udev modconf)": the words of the last one that is no comment, over lines.
std::string array_value(std::string_view text, std::string_view name) {
  std::string value;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = trim(text.substr(begin, end - begin));
    begin = end + 1;
    const bool adds = line.starts_with(std::string(name) + "+=");
    if (!adds && !line.starts_with(std::string(name) + "=")) continue;
    const std::size_t from = static_cast<std::size_t>(line.data() - text.data());
    const bool is_array = line.find('(') == line.find('=') + 1;
    const std::size_t stop =
        is_array ? std::min(text.find(')', from), text.size()) : from + line.size();
    if (!adds) value.clear();
    value += " " + std::string(text.substr(from, stop - from).substr(line.find('=') + 1));
    begin = std::max(begin, std::min(stop + 1, text.size()));
  }
  return value;
}

std::vector<std::string> command_of(facts::InitramfsTool tool) {
  switch (tool) {
    case facts::InitramfsTool::update_initramfs:
      return {"update-initramfs", "-u", "-k", "all"};
    case facts::InitramfsTool::dracut:
      return {"dracut", "--force", "--regenerate-all"};
    case facts::InitramfsTool::mkinitcpio:
      break;
  }
  return {"mkinitcpio", "-P"};
}

// The images that are there, and any that the tool would make for another kernel.
std::vector<std::string> images_made(const facts::BootSetup& boot) {
  std::set<std::string> images;
  if (*boot.initramfs == facts::InitramfsTool::mkinitcpio) images = images_of_presets(boot);
  for (const facts::InstalledKernel& kernel : boot.kernels) {
    const std::string& image = kernel.initramfs;
    if (image.empty()) continue;
    images.insert(image);
    const std::size_t slash = image.rfind('/') + 1;
    const std::size_t version = image.find(kernel.version, slash);
    if (version == std::string::npos || kernel.version.empty()) continue;
    std::string pattern = image;
    images.insert(pattern.replace(version, kernel.version.size(), "*"));
  }
  if (boot.command_line && (*boot.command_line == facts::CommandLineTool::systemd_boot ||
                            *boot.command_line == facts::CommandLineTool::kernelstub)) {
    // Hooks of the tool copy the images to where the boot loader reads them.
    for (std::string& copy : files_loaded(boot, {"initrd"})) {
      if (copy.find("ucode") == std::string::npos) images.insert(std::move(copy));
    }
  }
  return {images.begin(), images.end()};
}

// The partitions that it writes to are mounted for that moment only, so that nothing of them can be
// saved; once the images are restored, they are copied there again.
Step refresh_proxmox() {
  Command refresh;
  refresh.argv = {"proxmox-boot-tool", "refresh"};
  refresh.undo = refresh.argv;
  refresh.undo_run = UndoRun::always;
  return {StepKind::initramfs,
          "Copy the images to every EFI system partition",
          "This machine boots from there.",
          refresh,
          {},
          true};
}

// dracut that is not known to take /etc/modprobe.d is told the files by name.
std::optional<Step> tell_dracut(const facts::BootSetup& boot,
                                const std::vector<std::string>& files) {
  if (files.empty() || is_host_only(boot)) return std::nullopt;
  const std::string line = fmt::format("install_items+=\" {} \"\n", join(files, " "));
  const facts::ConfigFile* own = boot.file(dracut_own_path);
  FileEdit edit{std::string(dracut_own_path), std::nullopt, line, std::nullopt};
  if (own != nullptr) {
    if (own->text.find(line) != std::string::npos) return std::nullopt;
    edit = {own->path, own->text, own->text + (own->text.ends_with('\n') ? "" : "\n") + line,
            std::nullopt};
  }
  return Step{
      StepKind::initramfs,
      "Make dracut put the module parameters into the initramfs",
      "dracut includes /etc/modprobe.d only if it builds images for this machine only (hostonly).",
      edit,
      {},
      true};
}

bool takes_files_along(const facts::BootSetup& boot) {
  return *boot.initramfs != facts::InitramfsTool::mkinitcpio || has_modconf_hook(boot);
}

constexpr std::string_view why_anew =
    "The driver may be loaded from the initramfs, with the parameters that it contains.";

void expect_files(Step& step, const std::string& image, const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    step.expects.push_back({Expectation::Kind::image_holds, image, file});
  }
}

// One image by dracut, told where it belongs: left to itself it looks for a place of its own, which
// need not be the one that the boot loader's entry names (dracut(8)).
Step make_one(const std::string& image, const std::string& kernel) {
  Command command;
  command.argv = {"dracut", "--force", image, kernel};
  command.generates = {image};
  command.undo = command.argv;
  command.undo_run = UndoRun::if_changed;
  return {StepKind::initramfs, "Rebuild " + image, std::string(why_anew), command, {}, true};
}

// Every image that an entry loads, and those under /boot that hooks copy from.
std::vector<Step> make_booted_by_dracut(const facts::BootSetup& boot,
                                        const std::vector<BootedImage>& images,
                                        const std::vector<std::string>& files) {
  std::vector<Step> steps;
  std::set<std::string> made;
  for (const facts::InstalledKernel& kernel : boot.kernels) {
    if (kernel.initramfs.empty() || !made.insert(kernel.initramfs).second) continue;
    steps.push_back(make_one(kernel.initramfs, kernel.version));
    expect_files(steps.back(), kernel.initramfs, files);
  }
  for (const BootedImage& image : images) {
    if (!is_made_by_tool(boot, image) || !made.insert(image.path).second) continue;
    steps.push_back(make_one(image.path, image.kernel));
    expect_files(steps.back(), image.path, files);
  }
  return steps;
}

// All images by the tool's one command.
Step make_all(const facts::BootSetup& boot, const std::vector<BootedImage>& booted,
              const std::vector<std::string>& files) {
  Command command;
  command.argv = command_of(*boot.initramfs);
  command.generates = images_made(boot);
  command.undo = command.argv;
  command.undo_run = UndoRun::if_changed;
  Step step{StepKind::initramfs,
            "Rebuild the initramfs of every installed kernel",
            std::string(why_anew),
            command,
            {},
            true};
  if (!takes_files_along(boot)) {
    step.why +=
        " HOOKS in /etc/mkinitcpio.conf has no modconf, so the image will not contain the "
        "parameters. A driver that is loaded from it would not get them.";
    return step;
  }
  for (const BootedImage& image : booted) {
    if (is_made_by_tool(boot, image)) expect_files(step, image.path, files);
  }
  if (!booted.empty()) return step;  // What no entry loads nobody boots.
  for (const facts::InstalledKernel& kernel : boot.kernels) {
    if (!kernel.initramfs.empty()) expect_files(step, kernel.initramfs, files);
  }
  return step;
}

// What no command here is known to make is left to a person, and said so.
void tell_of_others(const facts::BootSetup& boot, const std::vector<BootedImage>& booted,
                    std::vector<Step>& steps) {
  for (const BootedImage& image : booted) {
    if (is_made_by_tool(boot, image)) continue;
    const std::string kernel = image.kernel.empty() ? "VERSION" : image.kernel;
    steps.push_back(
        {StepKind::by_hand,
         "Rebuild " + image.path,
         fmt::format(
             "The boot entry {} loads it, and headroom does not know whether {} builds it here.",
             image.entry, to_string(*boot.initramfs)),
         Instruction{
             fmt::format("Use this distribution's own tool, for instance: sudo kernel-install add "
                         "{0} /boot/vmlinuz-{0} /boot/initrd.img-{0}. Until then a driver that is "
                         "loaded from it keeps the old parameters.",
                         kernel)},
         {},
         true});
  }
}

}  // namespace

bool has_modconf_hook(const facts::BootSetup& boot) {
  std::string hooks;
  std::vector<const facts::ConfigFile*> files;
  for (const facts::ConfigFile& file : boot.files) {
    if (file.path.starts_with("/etc/mkinitcpio.conf.d/") && file.path.ends_with(".conf")) {
      files.push_back(&file);
    }
  }
  std::sort(files.begin(), files.end(),
            [](const auto* a, const auto* b) { return a->path < b->path; });
  if (const auto* main = boot.file("/etc/mkinitcpio.conf")) files.insert(files.begin(), main);
  for (const facts::ConfigFile* file : files) {
    const bool replaces =
        file->text.find("\nHOOKS=") != std::string::npos || file->text.starts_with("HOOKS=");
    if (replaces) hooks.clear();
    hooks += array_value(file->text, "HOOKS");
  }
  std::replace_if(
      hooks.begin(), hooks.end(),
      [](char c) { return std::string_view("()\"'\n").find(c) != std::string_view::npos; }, ' ');
  const auto words = split_words(hooks);
  return std::find(words.begin(), words.end(), "modconf") != words.end();
}

std::set<std::string> images_of_presets(const facts::BootSetup& boot) {
  std::set<std::string> images;
  for (const facts::ConfigFile& file : boot.files) {
    if (!file.path.starts_with("/etc/mkinitcpio.d/") || !file.path.ends_with(".preset")) continue;
    for (const Assignment& at : find_assignments(file.text)) {
      if (!at.name.ends_with("_image") && !at.name.ends_with("_uki")) continue;
      std::string path =
          unquote_value(std::string_view(file.text).substr(at.begin, at.end - at.begin));
      if (path.starts_with('/')) images.insert(std::move(path));
    }
  }
  return images;
}

bool is_host_only(const facts::BootSetup& boot) {
  return sourced_value(boot, "/etc/dracut.conf", "/etc/dracut.conf.d/", "hostonly") == "yes";
}

Result<std::vector<Step>> plan_initramfs(const facts::BootSetup& boot,
                                         const std::vector<std::string>& files) {
  if (!boot.initramfs) {
    return Error{Errc::unsupported,
                 fmt::format("expected update-initramfs, dracut or mkinitcpio; found none of them "
                             "({})",
                             facts::to_string(boot.initramfs.missing())),
                 "rebuild the initramfs of every kernel with this distribution's own tool"};
  }
  std::vector<Step> steps;
  if (*boot.initramfs == facts::InitramfsTool::dracut) {
    if (auto step = tell_dracut(boot, files)) steps.push_back(std::move(*step));
  }
  const auto booted = booted_images(boot);
  const bool each = *boot.initramfs == facts::InitramfsTool::dracut && !booted.empty();
  if (each) {
    for (Step& step : make_booted_by_dracut(boot, booted, files)) steps.push_back(std::move(step));
  } else {
    steps.push_back(make_all(boot, booted, files));
  }
  tell_of_others(boot, booted, steps);
  if (boot.command_line && *boot.command_line == facts::CommandLineTool::proxmox_boot_tool) {
    steps.push_back(refresh_proxmox());
  }
  return steps;
}

}  // namespace headroom::plan
