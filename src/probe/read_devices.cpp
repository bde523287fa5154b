// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/text.h"
#include "machine/live_answers.h"
#include "probe/read_gpus.h"
#include "probe/read_text.h"

namespace headroom::probe {
namespace {

using facts::Fact;
using facts::Missing;
using facts::PciGpu;
using facts::Source;
using facts::Why;
using machine::Files;

// 0x03xxxx is a display controller, 0x12xxxx a processing accelerator (Instinct). Headless GPUs,
// laptop GPUs and APUs are 0x0380, so a finer test would miss some.
bool is_graphics(std::uint64_t pci_class) {
  return pci_class >> 16U == 0x03 || pci_class >> 16U == 0x12;
}

bool is_card(std::string_view name) {  // "card1", not its connector "card1-DP-1".
  return name.starts_with("card") && parse_u64(name.substr(4)).has_value();
}

// Finds the folder of each graphics device, by PCI address. DRM is searched too, since a capture
// may hold only one of the two. Platform devices (the partitions of MI300) have no PCI address and
// are left out. If a device that may be a GPU cannot be read, `looked` becomes missing.
std::map<std::string, std::string> find_folders(const Files& files, Fact<bool>& looked) {
  std::optional<Fact<bool>> overlooked;
  std::map<std::string, std::string> folders;
  const std::string bus = "/sys/bus/pci/devices";
  const auto on_bus = files.list(bus);
  if (on_bus) {
    for (const std::string& pci : *on_bus) {
      const std::string folder = bus + "/" + pci;
      const auto pci_class = parse_number(read_text(files, folder + "/class"));
      if (!pci_class) overlooked = pci_class.absent<bool>();
      if (pci_class && is_graphics(*pci_class)) folders.emplace(pci, folder);
    }
  }
  const std::string drm = "/sys/class/drm";
  const auto in_drm = files.list(drm);
  if (in_drm) {
    for (const std::string& card : *in_drm) {
      if (!is_card(card)) continue;
      const std::string folder = drm + "/" + card + "/device";
      const auto uevent = read_text(files, folder + "/uevent");
      const auto slot = facts::parse_environment(uevent, "PCI_SLOT_NAME");
      if (!uevent) overlooked = uevent.absent<bool>();
      if (slot) folders.emplace(*slot, folder);
    }
  }
  if (overlooked) {
    looked = *overlooked;
  } else if (on_bus || in_drm) {
    looked = {true, Source{on_bus ? bus : drm, 0, ""}};
  } else {
    looked = {to_missing(on_bus.error()), Source{bus, 0, ""}};
  }
  return folders;
}

facts::Text read_driver(const Files& files, const std::string& folder) {
  const auto uevent = read_text(files, folder + "/uevent");
  auto driver = facts::parse_environment(uevent, "DRIVER");
  if (driver || uevent) return driver;
  const auto link = files.read_link(folder + "/driver");
  const Source source{folder + "/driver", 0, ""};
  if (!link) return {to_missing(link.error()), source};
  return {link->substr(link->rfind('/') + 1), source};
}

Fact<bool> existence(const Files& files, const std::string& path) {
  return {files.exists(path), Source{path, 0, ""}};
}

Fact<bool> usability(const Files& files, const std::string& path) {
  const auto usable = files.may_use(path);
  if (usable) return {*usable, Source{path, 0, ""}};
  return {
      Missing{usable.error().code == Errc::not_found ? Why::not_present : Why::not_applicable, ""},
      Source{path, 0, ""}};
}

void read_render_node(const Files& files, PciGpu& gpu) {
  const auto minors = files.list(gpu.folder + "/drm");
  const Source source{gpu.folder + "/drm", 0, ""};
  gpu.render_minor = {
      minors ? Missing{Why::not_present, "no render node"} : to_missing(minors.error()), source};
  for (const std::string& name : minors ? *minors : std::vector<std::string>{}) {
    const auto minor = name.starts_with("renderD") ? parse_u64(name.substr(7)) : std::nullopt;
    if (minor) gpu.render_minor = {*minor, source};
  }
  if (!gpu.render_minor) {
    gpu.render_node = gpu.render_minor.absent<bool>();
    gpu.render_usable = gpu.render_minor.absent<bool>();
    gpu.render_owner = facts::parse_ownership(gpu.render_minor.absent<std::string>());
    return;
  }
  const std::string node = fmt::format("/dev/dri/renderD{}", *gpu.render_minor);
  gpu.render_node = existence(files, node);
  gpu.render_usable = usability(files, node);
  gpu.render_owner = facts::parse_ownership(
      read_answer("ownership of " + node, [&] { return machine::read_ownership(files, node); }));
}

// Opening the render node wakes a sleeping GPU, and another driver would not understand the
// question.
facts::DriverAnswers ask_driver(const Files& files, const PciGpu& gpu) {
  const std::string what = "AMDGPU_INFO of " + gpu.render_node.source().path;
  const bool ours = gpu.driver && *gpu.driver == "amdgpu" && gpu.render_minor;
  Missing why{Why::not_present, "no render node of amdgpu"};
  if (gpu.asleep()) why = {Why::asleep, ""};
  if (!ours || gpu.asleep()) return facts::parse_driver_answers({why, Source{what, 0, ""}});
  return facts::parse_driver_answers(
      read_answer(what, [&] { return machine::read_amdgpu_info(files, *gpu.render_minor); }));
}

// mem_info_* are counters of the driver, and reading them wakes nothing. A sleeping card's VRAM was
// moved out, so its use says nothing. gpu_busy_percent and similar files are never read, because
// older drivers wake the GPU for them.
void read_memory(const Files& files, PciGpu& gpu) {
  const auto read = [&](const char* name) {
    return facts::parse_byte_count(read_text(files, gpu.folder + "/" + name));
  };
  gpu.vram_total = read("mem_info_vram_total");
  gpu.gtt_total = read("mem_info_gtt_total");
  if (gpu.asleep()) {
    const Fact<Bytes> asleep{Missing{Why::asleep, ""}, gpu.runtime_status.source()};
    gpu.vram_used = asleep;
    gpu.gtt_used = asleep;
    return;
  }
  gpu.vram_used = read("mem_info_vram_used");
  gpu.gtt_used = read("mem_info_gtt_used");
}

// The driver keeps these numbers in memory, so reading them wakes nothing.
void read_firmware(const Files& files, PciGpu& gpu) {
  gpu.firmware.vbios = facts::parse_word(read_text(files, gpu.folder + "/vbios_version"));
  const std::string folder = gpu.folder + "/fw_version";
  const auto there = files.list(folder);
  if (!there) return;
  for (const std::string_view name : facts::firmware_names) {
    const std::string file = std::string(name) + "_fw_version";
    if (std::find(there->begin(), there->end(), file) == there->end()) continue;
    gpu.firmware.versions[std::string(name)] =
        facts::parse_number(read_text(files, fmt::format("{}/{}", folder, file)));
  }
}

PciGpu read_device(const Files& files, const std::string& pci, const std::string& folder) {
  PciGpu gpu;
  gpu.pci = pci;
  gpu.folder = folder;
  const auto word = [&](const char* name) {
    return facts::parse_word(read_text(files, folder + "/" + name));
  };
  gpu.vendor = facts::parse_number(word("vendor"));
  gpu.device = facts::parse_number(word("device"));
  gpu.driver = read_driver(files, folder);
  if (!gpu.vendor || *gpu.vendor != facts::amd_vendor) return gpu;
  gpu.runtime_status = word("power/runtime_status");
  gpu.power_state = word("power_state");
  gpu.revision = facts::parse_number(word("revision"));
  gpu.product_name = word("product_name");
  gpu.board_info = word("board_info");
  gpu.vram_vendor = word("mem_info_vram_vendor");
  read_firmware(files, gpu);
  read_memory(files, gpu);
  read_render_node(files, gpu);
  gpu.answers = ask_driver(files, gpu);
  return gpu;
}

// The paravirtual device of Hyper-V and WSL, behind which is any maker's GPU (dxgkrnl).
constexpr std::uint64_t microsoft = 0x1414;

std::string vendor_name(std::uint64_t vendor) {
  switch (vendor) {
    case 0x10de:
      return "NVIDIA";
    case 0x8086:
      return "Intel";
    case 0x1a03:
      return "ASPEED";
    case 0x102b:
      return "Matrox";
    case 0x1af4:
      return "Virtio";
    case 0x1013:
      return "Cirrus";
    case 0x15ad:
      return "VMware";
    default:
      return fmt::format("vendor {:04x}", vendor);
  }
}

}  // namespace

Devices read_devices(const Files& files) {
  Devices devices;
  for (const auto& [pci, folder] : find_folders(files, devices.looked)) {
    devices.gpus.push_back(read_device(files, pci, folder));
    const Fact<std::uint64_t>& vendor = devices.gpus.back().vendor;
    if (!vendor) devices.looked = vendor.absent<bool>();
  }
  return devices;
}

std::vector<facts::OtherGpu> read_other_gpus(const Files& files,
                                             const std::vector<PciGpu>& devices) {
  std::vector<facts::OtherGpu> others;
  for (const PciGpu& device : devices) {
    if (!device.vendor || *device.vendor == facts::amd_vendor) continue;
    facts::OtherGpu other{device.pci, device.vendor, device.device, "", device.driver};
    const auto model = facts::find_line(
        read_text(files, "/proc/driver/nvidia/gpus/" + device.pci + "/information"), "Model");
    if (model) {
      other.name = *model;
    } else if (*device.vendor == microsoft) {
      other.name = "a GPU that Windows shares";
    } else {
      other.name = fmt::format("{} GPU {}", vendor_name(*device.vendor),
                               device.device ? fmt::format("{:04x}", *device.device) : "");
    }
    others.push_back(std::move(other));
  }
  return others;
}

}  // namespace headroom::probe
