// SPDX-License-Identifier: Apache-2.0
// fake_initramfs ROOT VERSION IMAGE: what the stand-ins for dracut, update-initramfs and mkinitcpio
// put into an image: microcode first, in an archive of its own, then the driver and the options of
// modprobe.d. Archives are cpio's newc (kernel: buffer-format.rst), not compressed.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace {

namespace fs = std::filesystem;

class Archive {
 public:
  void add_folder(const std::string& name) {
    if (name.empty() || !folders_.insert(name).second) return;
    add_folder(fs::path(name).parent_path().string());
    add(name, 0040755, "");
  }
  void add_file(const std::string& name, const std::string& bytes) {
    add_folder(fs::path(name).parent_path().string());
    add(name, 0100644, bytes);
  }
  std::string finish() {
    add("TRAILER!!!", 0, "");
    bytes_.resize((bytes_.size() + 511) / 512 * 512, '\0');
    return std::move(bytes_);
  }

 private:
  void add(const std::string& name, unsigned mode, const std::string& bytes) {
    const unsigned links = mode == 0040755 ? 2 : 1;
    bytes_ += fmt::format("070701{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}", ++inode_, mode, 0, 0,
                          links, 0, bytes.size());
    bytes_ += fmt::format("{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}", 0, 0, 0, 0, name.size() + 1, 0);
    bytes_ += name + '\0';
    pad();
    bytes_ += bytes;
    pad();
  }
  void pad() { bytes_.resize((bytes_.size() + 3) / 4 * 4, '\0'); }

  std::string bytes_;
  unsigned inode_ = 0;
  std::set<std::string> folders_;
};

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: fake_initramfs ROOT VERSION IMAGE\n");
    return 2;
  }
  const fs::path root = argv[1];
  Archive early;
  early.add_file("kernel/x86/microcode/AuthenticAMD.bin", "microcode\n");
  Archive archive;
  archive.add_file("init", "#!/bin/sh\n");
  archive.add_file(
      fmt::format("usr/lib/modules/{}/kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko", argv[2]),
      "amdgpu\n");
  for (const char* folder : {"usr/lib/modprobe.d", "etc/modprobe.d"}) {
    std::set<fs::path> files;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(root / folder, none)) {
      if (entry.path().extension() == ".conf") files.insert(entry.path());
    }
    for (const fs::path& file : files) {
      archive.add_file(std::string(folder) + "/" + file.filename().string(), read(file));
    }
  }
  std::ofstream image(argv[3], std::ios::binary);
  image << early.finish() << archive.finish() << std::flush;
  if (!image) fmt::print(stderr, "fake_initramfs: cannot write {}\n", argv[3]);
  return image ? 0 : 1;
}
