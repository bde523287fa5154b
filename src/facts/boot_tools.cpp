// SPDX-License-Identifier: Apache-2.0
#include "facts/boot_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace headroom::facts {
namespace {

bool is_like(const BootTraces& traces, std::string_view id) {
  if (!traces.distribution_id) return false;
  const auto words = split_words(*traces.distribution_id);
  return std::find(words.begin(), words.end(), id) != words.end();
}

bool has(const BootTraces& traces, const char* program) {
  return traces.programs.count(program) > 0;
}

bool is_ostree(const BootTraces& traces) {
  if (traces.ostree) return true;
  return traces.cmdline && traces.cmdline->find("ostree=") != std::string::npos;
}

// A captured machine has the ID of the whole family in ID_LIKE, so SteamOS ("steamos arch") is told
// by its own name.
bool is_steamos(const BootTraces& traces) {
  return is_like(traces, "steamos") || has(traces, "steamos-readonly");
}

bool is_mounted_read_only(const BootTraces& traces, const char* folder) {
  const auto mount = traces.mounts ? find_mount(*traces.mounts, folder) : std::nullopt;
  if (!mount) return false;
  return std::find(mount->options.begin(), mount->options.end(), "ro") != mount->options.end();
}

using Tool = Fact<CommandLineTool>;

Tool found(CommandLineTool tool, std::string path, std::string how) {
  return {tool, Source{std::move(path), 0, std::move(how)}};
}

Tool refused(Why why, std::string path, std::string text) {
  return {Missing{why, std::move(text)}, Source{std::move(path), 0, ""}};
}

// On Proxmox with a boot tool the kernels lie on partitions that are not mounted, and systemd-boot
// or GRUB starts from there.
Tool find_proxmox_tool(const BootTraces& traces) {
  const char* uuids = "/etc/kernel/proxmox-boot-uuids";
  const bool loader_is_grub = traces.loader_info && traces.loader_info->starts_with("GRUB");
  const bool loader_unset = traces.efi_variables && !traces.loader_info;
  if (!traces.efi || loader_is_grub || loader_unset || !traces.kernel_cmdline) {
    return refused(Why::not_applicable, uuids,
                   "proxmox-boot-tool starts GRUB here, whose command line comes from "
                   "/etc/default/grub by proxmox-boot-tool refresh");
  }
  return found(CommandLineTool::proxmox_boot_tool, uuids, "names the partitions that boot");
}

Tool find_grub_tool(const BootTraces& traces) {
  const std::string& config = traces.grub_config;
  if (has(traces, "grubby") && has(traces, "grub2-mkconfig")) {
    return found(CommandLineTool::grubby, traces.programs.at("grubby"), "with GRUB");
  }
  if (has(traces, "update-grub") && !is_like(traces, "arch")) {
    return found(CommandLineTool::update_grub, config, "GRUB's menu, made by update-grub");
  }
  for (const char* program : {"grub2-mkconfig", "grub-mkconfig"}) {
    if (!has(traces, program)) continue;
    return found(CommandLineTool::grub_mkconfig, config,
                 fmt::format("GRUB's menu, made by {}", program));
  }
  return refused(Why::not_present, config, "GRUB, without a program that makes its menu");
}

Tool find_systemd_boot(const BootTraces& traces, const Source& sign) {
  if (traces.entries.empty()) {
    return refused(Why::not_applicable, sign.path,
                   "systemd-boot without loader entries: the command line is inside unified kernel "
                   "images");
  }
  return {CommandLineTool::systemd_boot, sign};
}

Tool find_loader(const BootTraces& traces) {
  const bool grub = !traces.grub_config.empty() && traces.default_grub;
  const bool systemd = !traces.loader_conf.empty() || !traces.systemd_boot_efi.empty();
  const std::string& sign =
      traces.loader_conf.empty() ? traces.systemd_boot_efi : traces.loader_conf;
  if (traces.loader_info) {
    const Source source{traces.loader_info.source().path, 0, *traces.loader_info};
    if (traces.loader_info->starts_with("systemd-boot")) return find_systemd_boot(traces, source);
    if (traces.loader_info->starts_with("GRUB") && grub) return find_grub_tool(traces);
    return refused(Why::not_applicable, source.path,
                   fmt::format("started by {}, whose command line is not written by any tool that "
                               "is known here",
                               *traces.loader_info));
  }
  const bool not_systemd = !traces.efi || traces.efi_variables;  // It would have set LoaderInfo.
  if (!traces.other_loader.empty()) {
    return refused(Why::not_applicable, traces.other_loader,
                   "another boot loader's configuration, which no tool that is known here writes");
  }
  if (grub && (!systemd || not_systemd)) return find_grub_tool(traces);
  if (grub && traces.loader_conf.empty()) return find_grub_tool(traces);
  if (grub) {
    return refused(Why::not_understood, sign,
                   fmt::format("both systemd-boot and GRUB ({}) are set up, and the firmware's "
                               "variable LoaderInfo, which would tell them apart, was not seen",
                               traces.grub_config));
  }
  if (systemd && !traces.loader_conf.empty()) {
    return find_systemd_boot(traces, Source{sign, 0, ""});
  }
  return refused(Why::not_present, "/boot",
                 "neither GRUB with /etc/default/grub nor systemd-boot's configuration");
}

Fact<InitramfsTool> initramfs(InitramfsTool tool, const BootTraces& traces, const char* program) {
  return {tool, Source{traces.programs.at(program), 0, ""}};
}

std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto octal = [&](std::size_t at) { return text[at] >= '0' && text[at] <= '7'; };
    if (text[i] == '\\' && i + 3 < text.size() && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      plain +=
          static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + text[i + 3] - '0');
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool holds(std::string_view folder, std::string_view path) {
  if (folder == "/" || folder == path) return true;
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

}  // namespace

bool is_image_based(const BootTraces& traces) {
  return is_like(traces, "nixos") || is_ostree(traces) || is_steamos(traces) ||
         is_mounted_read_only(traces, "/usr");
}

Fact<CommandLineTool> find_command_line_tool(const BootTraces& traces) {
  if (is_like(traces, "nixos")) {
    return found(CommandLineTool::nixos, traces.distribution_id.source().path, "ID=nixos");
  }
  if (is_ostree(traces)) {
    if (has(traces, "rpm-ostree")) {
      return found(CommandLineTool::rpm_ostree, traces.programs.at("rpm-ostree"), "booted ostree");
    }
    return refused(Why::not_applicable, "/run/ostree-booted",
                   "the system is an ostree image, and has no rpm-ostree");
  }
  if (is_image_based(traces)) {
    return refused(Why::not_applicable, "/usr", "the system image is read-only");
  }
  if ((traces.proxmox || has(traces, "pveversion")) && has(traces, "proxmox-boot-tool") &&
      traces.proxmox_esps) {
    return find_proxmox_tool(traces);
  }
  if (has(traces, "kernelstub") && traces.kernelstub) {
    return found(CommandLineTool::kernelstub, "/etc/kernelstub/configuration", "");
  }
  return find_loader(traces);
}

Fact<InitramfsTool> find_initramfs_tool(const BootTraces& traces) {
  if (is_image_based(traces)) {
    return {Missing{Why::not_applicable, "the initramfs is part of the system image"},
            Source{"/usr", 0, ""}};
  }
  // Debian's dracut brings an update-initramfs of its own, which calls it.
  if (has(traces, "update-initramfs")) {
    return initramfs(InitramfsTool::update_initramfs, traces, "update-initramfs");
  }
  if (has(traces, "mkinitcpio") && (traces.preset || !has(traces, "dracut"))) {
    return initramfs(InitramfsTool::mkinitcpio, traces, "mkinitcpio");
  }
  if (has(traces, "dracut")) return initramfs(InitramfsTool::dracut, traces, "dracut");
  return {Missing{Why::not_present, "no update-initramfs, dracut or mkinitcpio"},
          Source{"/usr/sbin", 0, ""}};
}

std::optional<Mount> find_mount(std::string_view mounts, std::string_view path) {
  std::optional<Mount> best;
  for (const std::string_view line : split_lines(mounts)) {
    const auto words = split_words(line);
    if (words.size() < 4) continue;
    std::string folder = unescape(words[1]);
    if (!holds(folder, path) || (best && folder.size() < best->folder.size())) continue;
    best = Mount{unescape(words[0]), std::move(folder), std::string(words[2]), {}};
    for (const std::string_view option : split(words[3], ',')) best->options.emplace_back(option);
  }
  return best;
}

Fact<bool> find_grubenv_writable(const Text& mounts, const std::string& path) {
  if (path.empty()) {
    return {Missing{Why::not_applicable, "no GRUB"}, Source{"/boot", 0, ""}};
  }
  if (!mounts) return mounts.absent<bool>();
  const auto mount = find_mount(*mounts, path);
  if (!mount) return {Missing{Why::not_understood, "no mount holds it"}, mounts.source()};
  const Source source{mounts.source().path, 0,
                      fmt::format("{} is on {} ({})", path, mount->device, mount->type)};
  constexpr std::array plain = {"ext2", "ext3", "ext4", "xfs", "vfat", "jfs", "reiserfs", "exfat"};
  const bool by_blocks = std::find(plain.begin(), plain.end(), mount->type) != plain.end();
  const std::string_view device = mount->device;
  const bool layered = device.starts_with("/dev/mapper/") || device.starts_with("/dev/dm-") ||
                       device.starts_with("/dev/md");
  return {by_blocks && device.starts_with("/dev/") && !layered, source};
}

std::vector<std::string> initramfs_candidates(const std::string& version,
                                              const std::string& machine_id,
                                              const std::string& package) {
  std::vector<std::string> paths = {"/boot/initrd.img-" + version,
                                    "/boot/initramfs-" + version + ".img",
                                    "/boot/initrd-" + version};
  if (!machine_id.empty()) {
    for (const char* boot : {"/efi", "/boot", "/boot/efi"}) {
      for (const char* name : {"/initrd", "/initrd.img"}) {
        paths.push_back(fmt::format("{}/{}/{}{}", boot, machine_id, version, name));
      }
    }
  }
  if (!package.empty()) paths.push_back("/boot/initramfs-" + package + ".img");
  return paths;
}

std::string preset_image(std::string_view preset) {
  std::string image;
  for (std::string_view line : split_lines(preset)) {
    line = trim(line);
    constexpr std::string_view key = "default_image=";
    if (!line.starts_with(key)) continue;
    line = trim(line.substr(key.size()));
    if (line.size() >= 2 && (line.front() == '"' || line.front() == '\'')) {
      const std::size_t end = line.find(line.front(), 1);
      line = line.substr(1, end == std::string_view::npos ? end : end - 1);
    }
    image = std::string(line);
  }
  return image;
}

std::string decode_efi_text(std::string_view bytes) {
  std::string text;
  for (std::size_t i = 4; i + 1 < bytes.size(); i += 2) {
    if (bytes[i] == '\0' && bytes[i + 1] == '\0') break;
    const auto low = static_cast<unsigned char>(bytes[i]);
    text += bytes[i + 1] == '\0' && low >= 0x20 && low < 0x7f ? bytes[i] : '?';
  }
  return text;
}

}  // namespace headroom::facts
