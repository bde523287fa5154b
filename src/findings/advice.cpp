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

// The steps for one or several parameters, in one go: a file, the kernel command line and the
// initramfs are each named once.
class ParameterSteps {
 public:
  explicit ParameterSteps(const MachineFacts& machine)
      : machine_(machine), family_(family_of(machine)) {}

  void set(const std::string& module, const std::vector<ParameterValue>& values) {
    std::vector<std::string> arguments;
    std::string ostree;
    bool in_file = family_ != Family::other;
    for (const ParameterValue& one : values) {
      const std::string name = module + "." + one.key;
      arguments.push_back(name + "=" + one.value);
      ostree += fmt::format(" --delete-if-present={} --append={}", name, arguments.back());
      in_file = in_file && !on_command_line(machine_, module, one.key);
    }
    if (family_ == Family::fedora) {
      add(command(
          fmt::format("sudo grubby --update-kernel=ALL --args=\"{}\"", join(arguments, " "))));
    } else if (family_ == Family::ostree) {
      add(command("sudo rpm-ostree kargs" + ostree));
    } else if (family_ == Family::nixos) {
      add(nixos_step(join(arguments, "\" \"")));
    } else if (in_file) {
      set_in_file(module, values);
    } else {
      edit_command_line(steps_, family_, "Add " + join(arguments, " ") + " to");
    }
  }

  // Wherever it is set.
  void drop(const std::string& module, const std::string& key) {
    const std::string name = module + "." + key;
    bool found = false;
    for (const facts::ModuleOption& option : machine_.options) {
      if (option.module != module || option.key != key) continue;
      found = true;
      if (option.source.path == "/proc/cmdline") {
        drop_from_command_line(name);
      } else {
        add(sentence(fmt::format("Remove {}={} from {} (line {})", key, option.value,
                                 option.source.path, option.source.line)));
        files_change_ = true;
      }
    }
    if (!found) drop_from_command_line(name);
  }

  std::vector<Step> take() {
    const bool has_tool = family_ == Family::debian || family_ == Family::arch ||
                          family_ == Family::suse || family_ == Family::fedora;
    if (files_change_ && has_tool) {
      Step rebuild = initramfs_command(family_);
      // One change of one file is one step with its command.
      if (steps_.size() == 1 && !steps_.front().is_command()) {
        steps_.front().text += ", and rebuild the initramfs";
        steps_.front().run = rebuild.text;
      } else {
        add(std::move(rebuild));
      }
    }
    finish(steps_, machine_);
    return std::move(steps_);
  }

 private:
  void add(Step step) { steps_.push_back(std::move(step)); }

  void set_in_file(const std::string& module, const std::vector<ParameterValue>& values) {
    files_change_ = true;
    std::vector<std::string> words;
    const facts::ModuleOption* other = nullptr;  // The first that a file sets otherwise.
    bool all_set = true;
    for (const ParameterValue& one : values) {
      words.push_back(one.key + "=" + one.value);
      const auto* option = machine_.option(module, one.key);
      all_set = all_set && option != nullptr && option->value == one.value;
      const bool differs = option != nullptr && option->value != one.value;
      if (differs && other == nullptr) other = option;
    }
    if (all_set) return;
    if (other != nullptr) {
      add(sentence(fmt::format("Set {} in {} (line {}), where {} is {} now", join(words, " and "),
                               other->source.path, other->source.line, other->key, other->value)));
      return;
    }
    // The line break in front is for a file whose last line has none.
    add(command(fmt::format("printf '\\noptions {} {}\\n' | sudo tee -a {}", module,
                            join(words, " "), own_options_path)));
  }

  void drop_from_command_line(const std::string& name) {
    if (family_ == Family::fedora) {
      add(command(fmt::format("sudo grubby --update-kernel=ALL --remove-args={}", name)));
    } else if (family_ == Family::ostree) {
      add(command(fmt::format("sudo rpm-ostree kargs --delete-if-present={}", name)));
    } else if (family_ == Family::nixos) {
      add(sentence_with(fmt::format("Remove {} from boot.kernelParams in configuration.nix", name),
                        "sudo nixos-rebuild boot"));
    } else {
      edit_command_line(steps_, family_, "Remove " + name + " from");
    }
  }

  const MachineFacts& machine_;
  Family family_;
  std::vector<Step> steps_;
  bool files_change_ = false;
};

}  // namespace

std::string usual_initramfs_command(const MachineFacts& machine) {
  const Family family = family_of(machine);
  const bool image = family == Family::other || family == Family::ostree || family == Family::nixos;
  return image ? "" : initramfs_command(family).text;
}

std::string usual_command_line_change(const MachineFacts& machine) {
  const Family family = family_of(machine);
  if (family == Family::fedora) return "sudo grubby --update-kernel=ALL";
  if (family == Family::ostree) return "sudo rpm-ostree kargs --editor";
  if (family == Family::other || family == Family::nixos) return "";
  return fmt::format("GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, then {}",
                     boot_menu_command(family).text);
}

std::vector<Step> steps_to_set(const MachineFacts& machine, const std::string& module,
                               const std::vector<ParameterValue>& values,
                               const std::vector<Parameter>& dropped) {
  ParameterSteps steps(machine);
  steps.set(module, values);
  for (const Parameter& one : dropped) steps.drop(one.module, one.key);
  return steps.take();
}

std::vector<ParameterValue> ttm_limit_of(Bytes limit) {
  constexpr std::uint64_t page_bytes = 4096;
  const std::string pages = std::to_string(limit.value / page_bytes);
  return {{"pages_limit", pages}, {"page_pool_size", pages}};
}

std::vector<Step> steps_to_drop(const MachineFacts& machine, const std::string& module,
                                const std::string& key) {
  ParameterSteps steps(machine);
  steps.drop(module, key);
  return steps.take();
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
