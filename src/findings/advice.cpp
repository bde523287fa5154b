// SPDX-License-Identifier: Apache-2.0
#include "findings/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace headroom::findings {
namespace {

using facts::MachineFacts;

enum class Family { debian, fedora, ostree, arch, suse, nixos, other };

// Finds the family by ID, else by the distributions that ID_LIKE lists.
Family family_of(const MachineFacts& machine) {
  struct Member {
    std::string_view id;
    Family family;
  };
  constexpr std::array members = {
      Member{"bazzite", Family::ostree}, Member{"debian", Family::debian},
      Member{"ubuntu", Family::debian},  Member{"fedora", Family::fedora},
      Member{"rhel", Family::fedora},    Member{"centos", Family::fedora},
      Member{"arch", Family::arch},      Member{"cachyos", Family::arch},
      Member{"suse", Family::suse},      Member{"opensuse", Family::suse},
      Member{"nixos", Family::nixos},
  };
  if (!machine.distribution_id) return Family::other;
  // SteamOS resembles Arch, but its system image is read-only.
  if (machine.distribution_id->starts_with("steamos")) return Family::other;
  for (const std::string_view word : split_words(*machine.distribution_id)) {
    for (const Member& member : members) {
      if (word == member.id) return member.family;
    }
  }
  return Family::other;
}

Step initramfs_command(Family family) {
  switch (family) {
    case Family::debian:
      return command("sudo update-initramfs -u -k all");
    case Family::arch:
      return command("sudo mkinitcpio -P");
    default:
      return command("sudo dracut --force --regenerate-all");
  }
}

Step boot_menu_command(Family family) {
  switch (family) {
    case Family::debian:
      return command("sudo update-grub");
    case Family::suse:
      return command("sudo grub2-mkconfig -o /boot/grub2/grub.cfg");
    default:
      return command("sudo grub-mkconfig -o /boot/grub/grub.cfg");
  }
}

bool on_command_line(const MachineFacts& machine, const std::string& module,
                     const std::string& key) {
  const auto* option = machine.option(module, key);
  return option != nullptr && option->source.path == "/proc/cmdline";
}

void edit_command_line(std::vector<Step>& steps, Family family, const std::string& change) {
  Step step = sentence(fmt::format(
      "{} the kernel command line (for GRUB: GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub)",
      change));
  if (family != Family::other) {
    step.text += " and regenerate the boot menu";
    step.run = boot_menu_command(family).text;
  }
  steps.push_back(std::move(step));
}

Step nixos_step(const std::string& argument) {
  return sentence_with(
      fmt::format("Set boot.kernelParams = [ \"{}\" ]; in configuration.nix", argument),
      "sudo nixos-rebuild boot");
}

void finish(std::vector<Step>& steps, const MachineFacts& machine) {
  steps.push_back(reboot());
  steps.push_back(look("headroom check", "(after the reboot, to see the new limits)"));
  if (!machine.in_container()) return;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) steps[i] = on_the_host(std::move(steps[i]));
}

}  // namespace

std::vector<Step> steps_to_set(const MachineFacts& machine, const std::string& module,
                               const std::string& key, const std::string& value) {
  const Family family = family_of(machine);
  const std::string name = module + "." + key;
  const std::string argument = name + "=" + value;
  std::vector<Step> steps;
  if (family == Family::fedora) {
    steps.push_back(
        command(fmt::format("sudo grubby --update-kernel=ALL --args=\"{}\"", argument)));
  } else if (family == Family::ostree) {
    steps.push_back(command(
        fmt::format("sudo rpm-ostree kargs --delete-if-present={} --append={}", name, argument)));
  } else if (family == Family::nixos) {
    steps.push_back(nixos_step(argument));
  } else if (family == Family::other || on_command_line(machine, module, key)) {
    edit_command_line(steps, family, "Add " + argument + " to");
  } else if (const auto* option = machine.option(module, key)) {
    steps.push_back(sentence_with(
        fmt::format("Set {}={} in {} (line {}) instead of {}, and rebuild the initramfs", key,
                    value, option->source.path, option->source.line, option->value),
        initramfs_command(family).text));
  } else {
    steps.push_back(command(fmt::format("echo 'options {} {}={}' | sudo tee -a {}", module, key,
                                        value, own_options_path)));
    steps.push_back(initramfs_command(family));
  }
  finish(steps, machine);
  return steps;
}

std::vector<Step> steps_to_drop(const MachineFacts& machine, const std::string& module,
                                const std::string& key) {
  const Family family = family_of(machine);
  const std::string name = module + "." + key;
  const auto* option = machine.option(module, key);
  std::vector<Step> steps;
  if (option != nullptr && option->source.path != "/proc/cmdline") {
    Step step = sentence(fmt::format("Remove {}={} from {} (line {})", key, option->value,
                                     option->source.path, option->source.line));
    if (family != Family::other) {
      step.text += " and rebuild the initramfs";
      step.run = initramfs_command(family).text;
    }
    steps.push_back(std::move(step));
  } else if (family == Family::fedora) {
    steps.push_back(command(fmt::format("sudo grubby --update-kernel=ALL --remove-args={}", name)));
  } else if (family == Family::ostree) {
    steps.push_back(command(fmt::format("sudo rpm-ostree kargs --delete-if-present={}", name)));
  } else {
    edit_command_line(steps, family, "Remove " + name + " from");
  }
  finish(steps, machine);
  return steps;
}

std::vector<Step> steps_to_boot_with(const MachineFacts& machine, const std::string& argument) {
  const Family family = family_of(machine);
  std::vector<Step> steps;
  if (family == Family::fedora) {
    steps.push_back(
        command(fmt::format("sudo grubby --update-kernel=ALL --args=\"{}\"", argument)));
  } else if (family == Family::ostree) {
    steps.push_back(command(fmt::format("sudo rpm-ostree kargs --append-if-missing={}", argument)));
  } else if (family == Family::nixos) {
    steps.push_back(nixos_step(argument));
  } else {
    edit_command_line(steps, family, "Add " + argument + " to");
  }
  finish(steps, machine);
  return steps;
}

std::vector<Step> steps_to_rebuild_initramfs(const MachineFacts& machine) {
  const Family family = family_of(machine);
  std::vector<Step> steps;
  if (family == Family::nixos || family == Family::ostree || family == Family::other) {
    steps.push_back(sentence("Rebuild the initramfs with this distribution's own tool."));
  } else {
    steps.push_back(initramfs_command(family));
  }
  if (family == Family::debian) {
    steps.push_back(
        command("lsinitramfs /boot/initrd.img-$(uname -r) | grep modprobe.d", "(must list it)"));
  } else if (family == Family::arch) {
    steps.push_back(
        command("lsinitcpio /boot/initramfs-linux.img | grep modprobe.d", "(must list it)"));
  } else if (family == Family::fedora || family == Family::suse) {
    steps.push_back(command("sudo lsinitrd | grep modprobe.d", "(must list it)"));
  }
  finish(steps, machine);
  return steps;
}

Step step_to_vulkan(const MachineFacts& machine) {
  switch (family_of(machine)) {
    case Family::debian:
      return command("sudo apt install mesa-vulkan-drivers vulkan-tools && vulkaninfo --summary");
    case Family::fedora:
      return command("sudo dnf install mesa-vulkan-drivers vulkan-tools && vulkaninfo --summary");
    case Family::arch:
      return command("sudo pacman -S vulkan-radeon vulkan-tools && vulkaninfo --summary");
    case Family::suse:
      return command("sudo zypper install libvulkan_radeon vulkan-tools && vulkaninfo --summary");
    default:
      return command("vulkaninfo --summary",
                     "(from the package vulkan-tools, with Mesa's Vulkan driver)");
  }
}

std::string pass_devices_command(const std::string& engine) {
  if (engine == "podman") {
    return "podman run --device /dev/kfd --device /dev/dri --group-add keep-groups …   (in a "
           "quadlet: AddDevice=/dev/kfd, AddDevice=/dev/dri, GroupAdd=keep-groups)";
  }
  if (engine == "kubernetes") {
    return "ask for the GPU in the pod: resources.limits: { amd.com/gpu: 1 }, with AMD's device "
           "plugin "
           "on the node";
  }
  if (engine == "lxc") {
    return "in the container's configuration on the host, pass /dev/kfd and /dev/dri/renderD* "
           "(Proxmox: dev0: /dev/kfd,gid=RENDER; dev1: /dev/dri/renderD128,gid=RENDER)";
  }
  if (engine == "singularity" || engine == "apptainer") return "singularity exec --rocm …";
  return "docker run --device /dev/kfd --device /dev/dri --group-add video --group-add \"$(getent "
         "group "
         "render | cut -d: -f3)\" …   (in compose: devices: [/dev/kfd, /dev/dri])";
}

}  // namespace headroom::findings
