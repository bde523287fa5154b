// SPDX-License-Identifier: Apache-2.0
#include "probe/read_boot_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "facts/boot_tools.h"
#include "probe/read_text.h"

namespace headroom::probe {
namespace {

using facts::BootSetup;
using facts::BootTraces;
using facts::Text;
using machine::Files;

// The folders where an EFI system partition, or the partition beside it that holds kernels, is
// mounted.
constexpr std::array boot_folders = {"/boot", "/efi", "/boot/efi"};

class Reader {
 public:
  Reader(const Files& files, const facts::MachineFacts& machine)
      : files_(files), machine_(machine) {}

  BootSetup read() {
    setup_.programs = find_programs();
    read_traces();
    read_grub();
    read_loader_entries();
    read_settings();
    setup_.cmdline = traces_.cmdline;
    setup_.boot_id = facts::parse_word(read_text(files_, "/proc/sys/kernel/random/boot_id"));
    setup_.image_based = facts::is_image_based(traces_);
    setup_.command_line = facts::find_command_line_tool(traces_);
    setup_.initramfs = facts::find_initramfs_tool(traces_);
    const std::string grubenv =
        setup_.grub_config.empty() ? "" : folder_of(setup_.grub_config) + "/grubenv";
    setup_.grubenv_writable = facts::find_grubenv_writable(traces_.mounts, grubenv);
    read_kernels();
    if (auto hooks = files_.list("/etc/initramfs/post-update.d")) {
      setup_.initramfs_hooks = *std::move(hooks);
    }
    return std::move(setup_);
  }

 private:
  enum class Seen { here, not_here, withheld };

  static std::string folder_of(const std::string& path) {
    return path.substr(0, path.find_last_of('/'));
  }

  void note_unseen(const std::string& path, const Error& error) {
    setup_.unseen.push_back(Text(to_missing(error), facts::Source{path, 0, ""}));
  }

  // Adds the file, under its name with links followed.
  Seen add(const std::string& path) {
    auto text = files_.read(path);
    if (!text) {
      if (text.error().code == Errc::not_found) return Seen::not_here;
      note_unseen(path, text.error());
      return Seen::withheld;
    }
    const auto real = files_.resolve(path);
    const std::string name = real ? *real : path;
    if (name != path) setup_.links[path] = name;
    const auto same = [&](const auto& file) { return file.path == name; };
    if (std::none_of(setup_.files.begin(), setup_.files.end(), same)) {
      setup_.files.push_back({name, *std::move(text)});
    }
    return Seen::here;
  }

  // Adds the files in a folder whose names end in `suffix`; returns how many there are.
  std::size_t add_folder(const std::string& folder, std::string_view suffix) {
    const auto names = files_.list(folder);
    if (!names) {
      if (names.error().code != Errc::not_found) note_unseen(folder, names.error());
      return 0;
    }
    std::size_t count = 0;
    for (const std::string& name : *names) {
      if (name.ends_with(suffix) && add(folder + "/" + name) != Seen::not_here) ++count;
    }
    return count;
  }

  std::map<std::string, std::string> find_programs() const {
    constexpr std::array wanted = {"bootctl",          "dracut",
                                   "grub-editenv",     "grub-mkconfig",
                                   "grub-reboot",      "grub2-editenv",
                                   "grub2-mkconfig",   "grub2-reboot",
                                   "grubby",           "kernel-install",
                                   "kernelstub",       "mkinitcpio",
                                   "nixos-rebuild",    "proxmox-boot-tool",
                                   "pveversion",       "restorecon",
                                   "rpm-ostree",       "steamos-readonly",
                                   "systemctl",        "transactional-update",
                                   "update-initramfs", "update-grub"};
    constexpr std::array folders = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                    "/usr/bin",        "/sbin",          "/bin"};
    std::map<std::string, std::string> programs;
    for (const char* name : wanted) {
      for (const char* folder : folders) {
        const std::string path = fmt::format("{}/{}", folder, name);
        if (files_.exists(path) && programs.emplace(name, path).second) break;
      }
    }
    return programs;
  }

  void read_traces() {
    traces_.programs = setup_.programs;
    traces_.distribution_id = machine_.distribution_id;
    traces_.cmdline = read_text(files_, "/proc/cmdline");
    traces_.mounts = read_text(files_, "/proc/mounts");
    const std::string variables = "/sys/firmware/efi/efivars";
    traces_.efi = files_.exists("/sys/firmware/efi");
    const auto listed = files_.list(variables);
    traces_.efi_variables = listed && !listed->empty();
    traces_.loader_info =
        read_text(files_, variables + "/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f");
    if (traces_.loader_info) {
      traces_.loader_info = {facts::decode_efi_text(*traces_.loader_info),
                             traces_.loader_info.source()};
    }
    traces_.ostree = files_.exists("/run/ostree-booted");
    traces_.proxmox = files_.exists("/etc/pve");
    for (const char* path :
         {"/boot/limine.conf", "/boot/limine/limine.conf", "/boot/efi/limine.conf",
          "/efi/limine.conf", "/boot/refind_linux.conf"}) {
      if (traces_.other_loader.empty() && files_.exists(path)) traces_.other_loader = path;
    }
    for (const char* folder : boot_folders) {
      const std::string path = std::string(folder) + "/EFI/systemd/systemd-bootx64.efi";
      if (traces_.systemd_boot_efi.empty() && files_.exists(path)) traces_.systemd_boot_efi = path;
    }
  }

  // Older Red Hat releases keep the whole menu on the ESP; elsewhere the file there is a stub that
  // only names another file.
  bool is_whole_menu(const std::string& path) const {
    const auto text = files_.read(path);
    return text && (text->find("menuentry") != std::string::npos ||
                    text->find("blscfg") != std::string::npos);
  }

  std::string find_grub_config() {
    for (const char* path : {"/boot/grub2/grub.cfg", "/boot/grub/grub.cfg"}) {
      if (add(path) != Seen::not_here) return path;
    }
    const auto vendors = files_.list("/boot/efi/EFI");
    for (const std::string& vendor : vendors ? *vendors : std::vector<std::string>{}) {
      std::string path = "/boot/efi/EFI/" + vendor + "/grub.cfg";
      if (is_whole_menu(path) && add(path) == Seen::here) return path;
    }
    return "";
  }

  void read_grub() {
    traces_.default_grub = add("/etc/default/grub") != Seen::not_here;
    add_folder("/etc/default/grub.d", ".cfg");
    setup_.grub_config = find_grub_config();
    traces_.grub_config = setup_.grub_config;
    if (setup_.grub_config.empty()) return;
    const std::string folder = folder_of(setup_.grub_config);
    add(folder + "/custom.cfg");
    add(folder + "/grubenv");
  }

  // systemd-boot reads the ESP and the partition beside it; GRUB on Fedora only /boot.
  void read_loader_entries() {
    const bool systemd = traces_.loader_info && traces_.loader_info->starts_with("systemd-boot");
    for (const char* folder : boot_folders) {
      const std::string loader = std::string(folder) + "/loader";
      // A partition that only root can list need not have any of this.
      const auto listed = files_.list(loader);
      if (!listed && listed.error().code == Errc::not_found) continue;
      const bool expected = systemd || setup_.grub_config.empty() || loader == "/boot/loader";
      if (!listed && !expected) continue;
      if (traces_.loader_conf.empty() && listed && add(loader + "/loader.conf") == Seen::here) {
        traces_.loader_conf = loader + "/loader.conf";
      }
      const std::string entries = loader + "/entries";
      if (setup_.entries.empty() && (add_folder(entries, ".conf") > 0 || is_withheld(entries))) {
        setup_.entries = entries;
      }
    }
    traces_.entries = setup_.entries;
  }

  bool is_withheld(const std::string& path) const {
    return std::any_of(setup_.unseen.begin(), setup_.unseen.end(),
                       [&](const Text& text) { return text.source().path == path; });
  }

  void read_settings() {
    traces_.kernel_cmdline = add("/etc/kernel/cmdline") != Seen::not_here;
    const char* esps = "/etc/kernel/proxmox-boot-uuids";
    if (add(esps) == Seen::here) {
      const auto* file = setup_.file(esps);
      traces_.proxmox_esps = file != nullptr && !trim(file->text).empty();
    }
    traces_.kernelstub = add("/etc/kernelstub/configuration") != Seen::not_here;
    for (const char* path : {"/etc/kernel/install.conf", "/etc/kernel/entry-token",
                             "/etc/mkinitcpio.conf", "/etc/dracut.conf"}) {
      add(path);
    }
    traces_.preset = add_folder("/etc/mkinitcpio.d", ".preset") > 0;
    add_folder("/etc/mkinitcpio.conf.d", ".conf");
    add_folder("/etc/dracut.conf.d", ".conf");
    // A change that headroom made earlier may have left these.
    add("/etc/systemd/system/headroom-confirm.service");
    add("/etc/systemd/system/multi-user.target.wants/headroom-confirm.service");
    for (const char* folder : {"/etc/modprobe.d", "/run/modprobe.d", "/usr/lib/modprobe.d"}) {
      add_folder(folder, ".conf");
    }
  }

  std::string word_in(const std::string& path) const {
    const Text word = facts::parse_word(read_text(files_, path));
    return word ? *word : "";
  }

  // A folder of modules may outlive its kernel: DKMS leaves some behind.
  bool has_kernel(const std::string& version, const std::string& package,
                  const std::string& token) const {
    std::vector<std::string> images = {"/boot/vmlinuz-" + version,
                                       "/usr/lib/modules/" + version + "/vmlinuz"};
    if (!package.empty()) images.push_back("/boot/vmlinuz-" + package);
    for (const char* folder : boot_folders) {
      if (token.empty()) break;
      images.push_back(fmt::format("{}/{}/{}/linux", folder, token, version));
    }
    return std::any_of(images.begin(), images.end(),
                       [&](const std::string& path) { return files_.exists(path); });
  }

  std::string find_initramfs(const std::string& version, const std::string& package,
                             const std::string& token) const {
    auto candidates = facts::initramfs_candidates(version, token, package);
    const auto* preset =
        package.empty() ? nullptr : setup_.file("/etc/mkinitcpio.d/" + package + ".preset");
    if (preset != nullptr) candidates = {facts::preset_image(preset->text)};
    for (const std::string& path : candidates) {
      if (!path.empty() && files_.exists(path)) return path;
    }
    return "";
  }

  void read_kernels() {
    std::set<std::string> versions;
    for (const char* folder : {"/usr/lib/modules", "/lib/modules"}) {
      const auto names = files_.list(folder);
      for (const std::string& name : names ? *names : std::vector<std::string>{}) {
        if (name[0] >= '0' && name[0] <= '9') versions.insert(name);
      }
    }
    std::vector<std::string> sorted(versions.begin(), versions.end());
    facts::sort_newest_first(sorted);
    std::string token = word_in("/etc/kernel/entry-token");
    if (token.empty()) token = word_in("/etc/machine-id");
    for (const std::string& version : sorted) {
      const bool running = machine_.kernel && *machine_.kernel == version;
      const std::string package = word_in("/usr/lib/modules/" + version + "/pkgbase");
      if (!running && !has_kernel(version, package, token)) continue;
      setup_.kernels.push_back({version, find_initramfs(version, package, token), running});
    }
  }

  const Files& files_;
  const facts::MachineFacts& machine_;
  BootTraces traces_;
  BootSetup setup_;
};

}  // namespace

BootSetup read_boot_setup(const Files& files, const facts::MachineFacts& machine) {
  return Reader(files, machine).read();
}

}  // namespace headroom::probe
