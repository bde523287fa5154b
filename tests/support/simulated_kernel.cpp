// SPDX-License-Identifier: Apache-2.0
#include "support/simulated_kernel.h"

#include <fmt/format.h>

#include <fstream>
#include <map>

#include "base/text.h"
#include "machine/user_files.h"

namespace headroom::testing {
namespace {

namespace fs = std::filesystem;

using Options = std::map<std::string, std::string>;  // "ttm.pages_limit" → "31457280".
using Images = std::map<std::string, std::string>;   // What the images hold, by name.

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::uint64_t number_in(const fs::path& path) {
  const auto text = machine::read_file(path.string());
  const auto number = text ? parse_u64(trim(*text)) : std::nullopt;
  return number ? *number : 0;
}

// Archives end to end, each a series of headers of 110 bytes in hexadecimal, names and bytes, both
// filled up to a multiple of 4 (kernel: buffer-format.rst).
Status unpack(const std::string& bytes, Images& files) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    if (bytes[at] == '\0') {
      ++at;
      continue;
    }
    const auto field = [&](std::size_t i) {
      const auto value = parse_hex(std::string_view(bytes).substr(at + 6 + i * 8, 8));
      return value ? *value : std::uint64_t{0};
    };
    if (bytes.compare(at, 6, "070701") != 0 || at + 110 > bytes.size()) {
      return Error{Errc::invalid, "the initramfs is no cpio archive; the kernel panics", ""};
    }
    const std::size_t size = field(6);
    const std::size_t name_size = field(11);
    const std::string name = bytes.substr(at + 110, name_size - 1);
    at = (at + 110 + name_size + 3) / 4 * 4;
    if (at + size > bytes.size()) {
      return Error{Errc::invalid, "the initramfs ends early; the kernel panics", ""};
    }
    if (name != "TRAILER!!!") files[name] = bytes.substr(at, size);
    at = (at + size + 3) / 4 * 4;
  }
  return Done{};
}

// modprobe.d(5), as far as "options MODULE KEY=VALUE…" goes.
void add_modprobe(const std::string& text, Options& options) {
  for (const std::string_view line : split_lines(text)) {
    const auto words = split_words(line.substr(0, line.find('#')));
    if (words.size() < 3 || words[0] != "options") continue;
    for (std::size_t i = 2; i < words.size(); ++i) {
      const std::size_t at = words[i].find('=');
      if (at == std::string_view::npos) continue;
      options[fmt::format("{}.{}", words[1], words[i].substr(0, at))] = words[i].substr(at + 1);
    }
  }
}

// Files of /etc hide those of the same name under /usr; all are read in the order of their names.
Options options_of(const Images& files) {
  std::map<std::string, std::string> chosen;
  for (const char* folder : {"usr/lib/modprobe.d/", "etc/modprobe.d/"}) {
    for (const auto& [name, text] : files) {
      if (name.starts_with(folder)) chosen[name.substr(std::string_view(folder).size())] = text;
    }
  }
  Options options;
  for (const auto& [name, text] : chosen) add_modprobe(text, options);
  return options;
}

void add_command_line(const std::string& line, Options& options) {
  for (const std::string_view word : split_words(line)) {
    const std::size_t at = word.find('=');
    if (at == std::string_view::npos) continue;
    std::string name(word.substr(0, at));
    if (name.find('.') != std::string::npos) options[name] = word.substr(at + 1);
  }
}

// The kernel's images in this simulation hold their version, and nothing else.
Result<std::string> read_kernel(const fs::path& root, const std::string& path) {
  const auto text = machine::read_file((root / path.substr(1)).string());
  if (!text) return Error{Errc::not_found, fmt::format("{}: no such kernel", path), ""};
  return std::string(trim(*text));
}

// Every figure that ROCm's pool depends on is taken once, when the driver loads (amdgpu_ttm.c,
// amdgpu_amdkfd.c): GTT is gttsize or TTM's limit; the pool is TTM's limit where the carve-out is
// smaller than GTT, and the carve-out otherwise.
void load_driver(const fs::path& root, const Options& options) {
  const auto option = [&](const char* name) -> std::optional<std::uint64_t> {
    const auto found = options.find(name);
    return found == options.end() ? std::nullopt : parse_u64(found->second);
  };
  std::uint64_t ram_kib = 0;
  if (const auto text = machine::read_file((root / "proc/meminfo").string())) {
    const auto words = split_words(*text);
    if (words.size() > 1) ram_kib = parse_u64(words[1]).value_or(0);
  }
  const std::uint64_t default_pages = ram_kib / 4 / 2;
  const std::uint64_t pages = option("ttm.pages_limit").value_or(default_pages);
  const std::uint64_t pool_pages = option("ttm.page_pool_size").value_or(default_pages);
  const auto gttsize = option("amdgpu.gttsize");
  write(root / "sys/module/ttm/parameters/pages_limit", fmt::format("{}\n", pages));
  write(root / "sys/module/ttm/parameters/page_pool_size", fmt::format("{}\n", pool_pages));
  write(root / "sys/module/amdgpu/parameters/gttsize",
        gttsize ? fmt::format("{}\n", *gttsize) : "-1\n");
  const std::uint64_t gtt = gttsize ? *gttsize << 20U : pages * 4096;
  std::uint64_t carve_out = 0;
  for (const auto& card : fs::directory_iterator(root / "sys/bus/pci/devices")) {
    if (!fs::exists(card.path() / "mem_info_gtt_total")) continue;
    carve_out = number_in(card.path() / "mem_info_vram_total");
    write(card.path() / "mem_info_gtt_total", fmt::format("{}\n", gtt));
  }
  const std::uint64_t pool = carve_out < gtt ? pages * 4096 : carve_out;
  const fs::path nodes = root / "sys/devices/virtual/kfd/kfd/topology/nodes";
  for (const auto& node : fs::directory_iterator(nodes)) {
    const fs::path bank = node.path() / "mem_banks/0/properties";
    if (!fs::exists(bank)) continue;
    write(bank, fmt::format("heap_type 1\nsize_in_bytes {}\nflags 0\n", pool));
  }
}

}  // namespace

Result<std::string> start_kernel(const fs::path& root, const BootEntry& entry) {
  HEADROOM_TRY(const std::string version, read_kernel(root, entry.kernel));
  Images files;
  for (const std::string& image : entry.images) {
    const auto bytes = machine::read_file((root / image.substr(1)).string());
    if (!bytes) return Error{Errc::not_found, fmt::format("{}: no such initramfs", image), ""};
    HEADROOM_CHECK(unpack(*bytes, files));
  }
  Options options = options_of(files);
  add_command_line(entry.command_line, options);
  load_driver(root, options);
  write(root / "proc/cmdline", entry.command_line + "\n");
  write(root / "proc/sys/kernel/osrelease", version + "\n");
  const std::uint64_t boots = number_in(root / ".fake/boots") + 1;
  write(root / ".fake/boots", fmt::format("{}\n", boots));
  write(root / "proc/sys/kernel/random/boot_id",
        fmt::format("6a1f2d3c-0000-4000-8000-{:012d}\n", boots));
  return version;
}

}  // namespace headroom::testing
