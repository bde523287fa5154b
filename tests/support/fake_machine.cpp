// SPDX-License-Identifier: Apache-2.0
#include "support/fake_machine.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/document.h"
#include "machine/testing/newc.h"

namespace headroom::testing {
namespace {

namespace fs = std::filesystem;

class Expander {
 public:
  Expander(const Document& description, fs::path root)
      : document_(description), root_(std::move(root)) {}

  Status expand() {
    const Json& top = document_.value;
    HEADROOM_CHECK(only(top, "",
                        {"about", "kernel", "os", "ram_kib", "available_kib", "cmdline", "cgroup",
                         "dev", "ttm", "gttsize", "gpu", "kfd_node", "process", "kfd_process",
                         "acs", "file", "link", "initramfs", "unreadable"}));
    write_system(top);
    for (const Json& gpu : list(top, "gpu")) HEADROOM_CHECK(write_gpu(gpu));
    for (const Json& node : list(top, "kfd_node")) HEADROOM_CHECK(write_node(node));
    for (const Json& process : list(top, "process")) HEADROOM_CHECK(write_process(process));
    for (const Json& process : list(top, "kfd_process")) write_kfd_process(process);
    for (const auto& [path, control] : object(top, "acs")) write_acs(path, control.get<int>());
    for (const auto& [path, text] : object(top, "file")) write(path, text.get<std::string>());
    for (const auto& [path, target] : object(top, "link")) link(path, target.get<std::string>());
    for (const auto& [path, held] : object(top, "initramfs")) {
      write_initramfs(path, held.get<std::map<std::string, std::string>>());
    }
    if (top.contains("unreadable")) {
      write("MANIFEST.json", Json{{"read_errors", top["unreadable"]}}.dump());
    }
    return Done{};
  }

 private:
  using Object = std::map<std::string, Json>;

  static std::vector<Json> list(const Json& at, const std::string& key) {
    return at.contains(key) ? at[key].get<std::vector<Json>>() : std::vector<Json>{};
  }
  static Object object(const Json& at, const std::string& key) {
    return at.contains(key) ? at[key].get<Object>() : Object{};
  }

  static Status only(const Json& at, const std::string& what,
                     const std::vector<std::string>& keys) {
    for (const auto& [key, value] : at.items()) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
        return Error{Errc::invalid, fmt::format("{}: no key '{}' in a machine", what, key), ""};
      }
    }
    return Done{};
  }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << text;
  }
  void write_line(const std::string& path, const Json& value) const {
    write(path, (value.is_string() ? value.get<std::string>() : value.dump()) + "\n");
  }
  void write_if(const std::string& path, const Json& at, const std::string& key) const {
    if (at.contains(key)) write_line(path, at[key]);
  }
  void link(const std::string& path, const std::string& target) const {
    fs::create_directories((root_ / path).parent_path());
    fs::create_symlink(target, root_ / path);
  }

  // An image that is not compressed, with these files.
  void write_initramfs(const std::string& path,
                       const std::map<std::string, std::string>& held) const {
    std::vector<machine::testing::NewcEntry> entries;
    for (const auto& [name, bytes] : held) entries.push_back({name, bytes});
    write(path, machine::testing::make_newc(entries));
  }

  void write_system(const Json& top) {
    fs::create_directories(root_ / "sys");
    fs::create_directories(root_ / "proc");
    write_if("proc/sys/kernel/osrelease", top, "kernel");
    write_if("proc/cmdline", top, "cmdline");
    write_if("proc/1/cgroup", top, "cgroup");
    if (top.contains("ram_kib")) {
      write(
          "proc/meminfo",
          fmt::format("MemTotal:       {:8} kB\nMemFree:        {:8} kB\nMemAvailable:   {:8} kB\n"
                      "HugePages_Total:       0\n",
                      top["ram_kib"].get<std::uint64_t>(), 1024,
                      top["available_kib"].get<std::uint64_t>()));
    }
    for (const auto& [key, value] : object(top, "os")) {
      os_release_ += fmt::format("{}=\"{}\"\n", key, value.get<std::string>());
    }
    if (!os_release_.empty()) write("etc/os-release", os_release_);
    for (const Json& node : list(top, "dev")) write("dev/" + node.get<std::string>(), "");
    if (top.contains("ttm")) {
      const std::string module = top["ttm"].value("module", "ttm");
      write_line("sys/module/" + module + "/parameters/pages_limit", top["ttm"]["pages"]);
      write("proc/modules",
            fmt::format("amdgpu 21569536 42 - Live 0x0\n{} 118784 2 amdgpu, Live 0x0\n", module));
    }
    write_if("sys/module/amdgpu/parameters/gttsize", top, "gttsize");
  }

  Status write_gpu(const Json& gpu) {
    HEADROOM_CHECK(only(
        gpu, "gpu",
        {"pci",   "vendor",    "device", "revision", "class",    "driver",      "card",  "render",
         "vram",  "vram_used", "gtt",    "gtt_used", "board",    "vram_vendor", "power", "product",
         "below", "pcie",      "numa",   "iommu",    "firmware", "vbios"}));
    const std::string pci = gpu.at("pci").get<std::string>();
    const std::string parent =
        gpu.contains("below") ? gpu["below"].get<std::string>() : "pci" + pci.substr(0, 7);
    const std::string folder = fmt::format("sys/devices/{}/{}/", parent, pci);
    write_link(folder, gpu);
    const std::string vendor = gpu.value("vendor", "0x1002");
    const std::string device = gpu.at("device").get<std::string>();
    link("sys/bus/pci/devices/" + pci, "../../../devices/" + parent + "/" + pci);
    write_line(folder + "vendor", vendor);
    write_line(folder + "device", device);
    write_line(folder + "class", gpu.value("class", "0x030000"));
    write_if(folder + "revision", gpu, "revision");
    const std::string driver = gpu.value("driver", "amdgpu");
    write(folder + "uevent",
          (driver.empty() ? "" : "DRIVER=" + driver + "\n") + "PCI_SLOT_NAME=" + pci + "\n");
    write_if(folder + "mem_info_vram_total", gpu, "vram");
    write_if(folder + "mem_info_vram_used", gpu, "vram_used");
    write_if(folder + "mem_info_gtt_total", gpu, "gtt");
    write_if(folder + "mem_info_gtt_used", gpu, "gtt_used");
    if (gpu.contains("board"))
      write(folder + "board_info", "type : " + gpu["board"].get<std::string>() + "\n");
    write_if(folder + "mem_info_vram_vendor", gpu, "vram_vendor");
    write_if(folder + "power_state", gpu, "power");
    write_if(folder + "product_name", gpu, "product");
    write_if(folder + "vbios_version", gpu, "vbios");
    for (const auto& [name, version] : object(gpu, "firmware")) {
      write_line(folder + "fw_version/" + name + "_fw_version", version);
    }
    for (const char* kind : {"card", "render"}) {
      if (!gpu.contains(kind)) continue;
      const std::string name = fmt::format(
          "{}{}", kind == std::string("render") ? "renderD" : "card", gpu[kind].get<int>());
      write_line(folder + "drm/" + name + "/dev", "226:0");
      link(folder + "drm/" + name + "/device", "../../../" + pci);
      link("sys/class/drm/" + name, "../../devices/" + parent + "/" + pci + "/drm/" + name);
    }
    return Done{};
  }

  // pcie = [lanes now, lanes at most, GT/s now, GT/s at most].
  void write_link(const std::string& folder, const Json& gpu) const {
    if (gpu.contains("pcie")) {
      const auto pcie = gpu["pcie"].get<std::vector<Json>>();
      write_line(folder + "current_link_width", pcie.at(0));
      write_line(folder + "max_link_width", pcie.at(1));
      write_line(folder + "current_link_speed", pcie.at(2).dump() + " GT/s PCIe");
      write_line(folder + "max_link_speed", pcie.at(3).dump() + " GT/s PCIe");
    }
    write_if(folder + "numa_node", gpu, "numa");
    if (!gpu.contains("iommu")) return;
    const std::string group = gpu["pci"].get<std::string>().substr(5, 2);
    write_line("sys/kernel/iommu_groups/" + group + "/type", gpu["iommu"]);
    link(folder + "iommu_group", "/sys/kernel/iommu_groups/" + group);
  }

  // A configuration space as root reads it: error reporting first, then ACS with this control word.
  void write_acs(const std::string& path, int control) const {
    std::string bytes(4096, '\0');
    bytes.replace(0x100, 4, {0x01, 0x00, 0x02, 0x14});
    bytes.replace(0x140, 7, {0x0d, 0x00, 0x01, 0x00, 0x1f, 0x00, static_cast<char>(control)});
    write(path, bytes);
  }

  void write_node_links(const std::string& folder, const Json& node) const {
    for (const char* kind : {"io_links", "p2p_links"}) {
      int number = 0;
      for (const Json& to : list(node, kind)) {  // [type, node, weight, MB/s]
        write(fmt::format("{}{}/{}/properties", folder, kind, number++),
              fmt::format("type {}\nnode_from {}\nnode_to {}\nweight {}\nmin_bandwidth {}\n"
                          "max_bandwidth {}\nflags 1\n",
                          to[0].dump(), node["node"].dump(), to[1].dump(), to[2].dump(),
                          to[3].dump(), to[3].dump()));
      }
    }
  }

  Status write_node(const Json& node) {
    HEADROOM_CHECK(
        only(node, "kfd_node",
             {"node", "id", "cpu", "simd", "gfx", "device", "location", "domain", "render", "heap",
              "bank", "bank_used", "withheld", "unique", "hive", "io_links", "p2p_links"}));
    if (!fs::exists(root_ / "sys/class/kfd/kfd")) {
      link("sys/class/kfd/kfd", "../../devices/virtual/kfd/kfd");
    }
    const std::string folder =
        fmt::format("sys/devices/virtual/kfd/kfd/topology/nodes/{}/", node.at("node").get<int>());
    fs::create_directories(root_ / folder);
    if (node.value("withheld", false)) return Done{};
    std::string text = fmt::format("cpu_cores_count {}\nsimd_count {}\n", node.value("cpu", 0),
                                   node.value("simd", 0));
    const auto add = [&](const char* key, const char* name) {
      if (node.contains(key)) text += fmt::format("{} {}\n", name, node[key].dump());
    };
    add("gfx", "gfx_target_version");
    if (node.contains("device")) text += "vendor_id 4098\n";
    add("device", "device_id");
    add("location", "location_id");
    add("domain", "domain");
    add("render", "drm_render_minor");
    add("unique", "unique_id");
    add("hive", "hive_id");
    if (node.contains("io_links")) {
      text += fmt::format("io_links_count {}\np2p_links_count {}\n", list(node, "io_links").size(),
                          list(node, "p2p_links").size());
    }
    write(folder + "properties", text);
    write_line(folder + "gpu_id", node.value("id", 0));
    write_node_links(folder, node);
    if (!node.contains("bank")) return Done{};
    write(folder + "mem_banks/0/properties",
          fmt::format("heap_type {}\nsize_in_bytes {}\nflags 0\n", node.value("heap", 1),
                      node["bank"].dump()));
    write_if(folder + "mem_banks/0/used_memory", node, "bank_used");
    return Done{};
  }

  Status write_process(const Json& process) {
    HEADROOM_CHECK(only(process, "process", {"pid", "comm", "cmdline", "cgroup", "client"}));
    const std::string folder = fmt::format("proc/{}/", process.at("pid").get<int>());
    write_if(folder + "comm", process, "comm");
    write_if(folder + "cgroup", process, "cgroup");
    if (process.contains("cmdline")) {
      std::string text;
      for (const Json& word : process["cmdline"]) text += word.get<std::string>() + '\0';
      write(folder + "cmdline", text);
    }
    fs::create_directories(root_ / folder / "fd");
    for (const Json& client : list(process, "client")) write_client(folder, client);
    return Done{};
  }

  void write_client(const std::string& folder, const Json& client) const {
    const int fd = client.at("fd").get<int>();
    link(fmt::format("{}fd/{}", folder, fd), client.value("node", "/dev/dri/renderD128"));
    if (!client.contains("pdev")) return;  // /dev/kfd and the like.
    const std::string layout = client.value("layout", "middle");
    const std::uint64_t vram = client.value("vram_kib", 0);
    const std::uint64_t gtt = client.value("gtt_kib", 0);
    std::string text = "pos:\t0\nflags:\t02100002\n";
    if (layout == "oldest") {
      text += fmt::format("pdev:\t{}\npasid:\t{}\nvram mem:\t{} kB\ngtt mem:\t{} kB\n",
                          client["pdev"].get<std::string>(), client.value("pasid", 0), vram, gtt);
    } else {
      text += fmt::format("drm-driver:\tamdgpu\ndrm-client-id:\t{}\ndrm-pdev:\t{}\npasid:\t{}\n",
                          client.at("id").get<int>(), client["pdev"].get<std::string>(),
                          client.value("pasid", 0));
    }
    if (layout == "middle" || layout == "newest") {
      text += fmt::format(
          "drm-total-vram:\t{0} KiB\ndrm-shared-vram:\t{2} KiB\ndrm-resident-vram:\t{0} KiB\n"
          "drm-total-gtt:\t{1} KiB\ndrm-shared-gtt:\t0\ndrm-resident-gtt:\t{1} KiB\n",
          vram, gtt, client.value("shared_kib", 0));
    }
    if (layout == "old" || layout == "middle") {
      text += fmt::format("drm-memory-vram:\t{} KiB\ndrm-memory-gtt: \t{} KiB\n", vram, gtt);
    }
    write(fmt::format("{}fdinfo/{}", folder, fd), text);
  }

  void write_kfd_process(const Json& process) const {
    const std::string folder =
        fmt::format("sys/devices/virtual/kfd/kfd/proc/{}/", process.at("pid").get<int>());
    write_line(folder + "pasid", process.value("pasid", 0));
    for (const auto& [gpu, bytes] : object(process, "vram"))
      write_line(folder + "vram_" + gpu, bytes);
  }

  const Document& document_;
  fs::path root_;
  std::string os_release_;
};

}  // namespace

Status expand_machine(const Document& description, const std::string& folder) {
  // The JSON library throws on a value of the wrong kind; a description is our own text, so that is
  // a mistake in it and is said as one.
  try {
    return Expander(description, folder).expand();
  } catch (const std::exception& mistake) {
    return Error{Errc::invalid, mistake.what(), ""};
  }
}

}  // namespace headroom::testing
