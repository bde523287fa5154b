// SPDX-License-Identifier: Apache-2.0
// Images as tools write them, as people break them, and as nobody should.
#include "machine/initramfs_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "machine/temporary_folder.h"
#include "machine/testing/newc.h"

namespace headroom::machine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::make_newc;
using testing::newc_folder;
using testing::newc_link;
using testing::NewcEntry;

constexpr const char* conf = "etc/modprobe.d/ttm.conf";
const std::string options = "options ttm pages_limit=27648000\n";

std::string small_image(const std::string& bytes = options) {
  return make_newc({newc_folder("."),
                    newc_folder("etc"),
                    newc_folder("etc/modprobe.d"),
                    {conf, bytes},
                    {"init", "#!/bin/sh\n", 0100755}});
}
std::string microcode() {
  std::string image = make_newc(
      {newc_folder("kernel"), {"kernel/x86/microcode/AuthenticAMD.bin", std::string(5001, 'm')}});
  image.resize((image.size() / 512 + 2) * 512, '\0');
  return image;
}

// What the image holds under that name, "(not there)", or the error's message.
std::string read(const std::string& image, std::string_view name = conf) {
  const auto found = read_from_initramfs(MemoryBytes(image), name);
  if (!found) return "error: " + found.error().message;
  return found->value_or("(not there)");
}

bool is_installed(const std::string& tool) {
  return std::system(("command -v " + tool + " >/dev/null 2>&1").c_str()) == 0;
}

std::string packed(const std::string& bytes, const std::string& command) {
  auto folder = TemporaryFolder::make();
  const std::string path = folder->path() + "/plain";
  std::ofstream(path, std::ios::binary) << bytes;
  if (std::system((command + " < " + path + " > " + path + ".packed").c_str()) != 0) return "";
  std::ifstream in(path + ".packed", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(InitramfsImage, a_plain_archive_is_read) {
  EXPECT_EQ(read(small_image()), options);
  EXPECT_EQ(read(small_image(), "/etc/modprobe.d/ttm.conf"), options);
  EXPECT_EQ(read(small_image(), "etc//modprobe.d/./ttm.conf"), options);
  EXPECT_EQ(read(small_image(), "etc/modprobe.d/other.conf"), "(not there)");
  EXPECT_EQ(read(small_image(), "etc/modprobe.d"), "(not there)");
  EXPECT_EQ(read(small_image("")), "");
}

TEST(InitramfsImage, names_are_listed_in_order) {
  const std::string image = microcode() + small_image();
  EXPECT_THAT(*list_initramfs(MemoryBytes(image)),
              ElementsAre("kernel", "kernel/x86/microcode/AuthenticAMD.bin", "etc",
                          "etc/modprobe.d", conf, "init"));
}

TEST(InitramfsImage, of_two_archives_the_later_one_counts) {
  EXPECT_EQ(read(small_image("old\n") + small_image("new\n")), "new\n");
  const std::string padded = small_image("old\n") + std::string(4096, '\0') + small_image("new\n");
  EXPECT_EQ(read(padded), "new\n");
}

TEST(InitramfsImage, the_form_with_checksums_is_read) {
  EXPECT_EQ(read(make_newc({{conf, options, 0100644, 0, 1, "070702"}})), options);
}

TEST(InitramfsImage, a_name_padded_with_zeros_is_read) {
  // As dracut's --enhanced-cpio writes it, to align the bytes.
  EXPECT_EQ(read(make_newc({{conf + std::string(300, '\0'), options}})), options);
}

TEST(InitramfsImage, links_are_followed) {
  const std::string merged = make_newc({newc_folder("usr/lib/modprobe.d"),
                                        newc_link("lib", "usr/lib"),
                                        {"usr/lib/modprobe.d/a.conf", options}});
  EXPECT_EQ(read(merged, "/lib/modprobe.d/a.conf"), options);
  EXPECT_EQ(read(merged, "/usr/lib/modprobe.d/a.conf"), options);
  const std::string through_it =
      make_newc({newc_link("lib", "/usr/lib"), {"lib/modprobe.d/a.conf", options}});
  EXPECT_EQ(read(through_it, "/usr/lib/modprobe.d/a.conf"), options);
  EXPECT_EQ(read(through_it, "/lib/modprobe.d/a.conf"), options);
  const std::string to_another =
      make_newc({{"usr/share/b.conf", options}, newc_link("etc/a.conf", "../usr/share/b.conf")});
  EXPECT_EQ(read(to_another, "/etc/a.conf"), options);
  EXPECT_EQ(read(make_newc({newc_link("a", "b"), newc_link("b", "a")}), "a"), "(not there)");
  EXPECT_EQ(read(make_newc({newc_link("a", "a/a")}), "a/a"), "(not there)");
}

TEST(InitramfsImage, a_link_that_takes_a_files_place_hides_it) {
  EXPECT_EQ(read(make_newc({{conf, "old"}, newc_link(conf, "/dev/null")})), "(not there)");
  EXPECT_EQ(read(make_newc({newc_link(conf, "/dev/null"), {conf, options}})), options);
}

TEST(InitramfsImage, hard_links_share_their_bytes_wherever_these_are) {
  const NewcEntry full = {"etc/a.conf", options, 0100644, 7, 2};
  const NewcEntry empty = {conf, "", 0100644, 7, 2};
  EXPECT_EQ(read(make_newc({empty, full})), options);
  EXPECT_EQ(read(make_newc({full, empty})), options);
  EXPECT_EQ(read(make_newc({full, empty}), "etc/a.conf"), options);
  const NewcEntry other = {"etc/b.conf", "other", 0100644, 8, 2};
  EXPECT_EQ(read(make_newc({empty, other})), "");
  // The number means something else in the next archive.
  EXPECT_EQ(read(make_newc({empty}) + make_newc({full})), "");
}

struct Tool {
  const char* name;
  const char* command;
};
std::ostream& operator<<(std::ostream& out, const Tool& tool) {
  return out << tool.command;
}
class Compressed : public ::testing::TestWithParam<Tool> {
 protected:
  void SetUp() override {
    const std::string tool =
        std::string(GetParam().command).substr(0, std::string(GetParam().command).find(' '));
    if (!is_installed(tool)) GTEST_SKIP() << tool << " is not installed";
  }
  std::string image() const { return microcode() + packed(noise_and_image(), GetParam().command); }
  // Larger than any block, and not to be shrunk.
  static std::string noise_and_image(const std::string& bytes = options) {
    std::string noise(300'000, '\0');
    std::uint32_t state = 1;
    for (char& c : noise) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24U);
    return make_newc({{"bin/noise", noise}, {conf, bytes}}) + std::string(512, '\0');
  }
};

TEST_P(Compressed, is_read) {
  EXPECT_EQ(read(image()), options);
  EXPECT_EQ(read(image(), "etc/other"), "(not there)");
}

TEST_P(Compressed, cut_short_anywhere_is_said_and_is_never_not_there) {
  const std::string whole = image();
  const std::size_t start = microcode().size();
  for (std::size_t length = start + 1; length < whole.size(); length += 1 + whole.size() / 41) {
    EXPECT_THAT(read(whole.substr(0, length)), HasSubstr("error: ")) << length;
  }
  EXPECT_THAT(read(whole.substr(0, whole.size() - 1)), HasSubstr("error: "));
}

TEST_P(Compressed, damage_does_not_pass_for_the_file) {
  const std::string whole = image();
  for (std::size_t at = microcode().size(); at < whole.size(); at += 1 + whole.size() / 41) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(~damaged[at]);
    const std::string found = read(damaged);
    EXPECT_TRUE(found == options || found.starts_with("error: ")) << at << ": " << found;
  }
}

TEST_P(Compressed, another_archive_behind_it_counts) {
  if (std::string(GetParam().name) == "xz") GTEST_SKIP() << "its unpacker reads what follows as xz";
  std::string first = packed(noise_and_image("old\n"), GetParam().command);
  first.resize((first.size() + 7) / 4 * 4, '\0');
  EXPECT_EQ(read(first + small_image()), options);
  EXPECT_EQ(read(first + packed(noise_and_image(), GetParam().command)), options);
}

INSTANTIATE_TEST_SUITE_P(InitramfsImage, Compressed,
                         ::testing::Values(Tool{"gzip", "gzip -9nc"},
                                           Tool{"xz", "xz --check=crc32 -c"},
                                           Tool{"lzma", "xz --format=lzma -c"},
                                           Tool{"bzip2", "bzip2 -c"}, Tool{"lz4", "lz4 -9lc"},
                                           Tool{"zstd", "zstd -q -c"}),
                         [](const auto& tool) { return std::string(tool.param.name); });

TEST(InitramfsImage, what_the_kernel_would_not_unpack_is_refused_with_the_reason) {
  EXPECT_THAT(read(""), HasSubstr("found an empty file"));
  EXPECT_THAT(read(std::string(8192, '\0')), HasSubstr("nothing but zero bytes"));
  EXPECT_THAT(read("not an image"), HasSubstr("6e 6f 74 20"));
  EXPECT_THAT(read(small_image() + "junk"), HasSubstr("6a 75 6e 6b"));
  EXPECT_THAT(read("070707000000"), HasSubstr("old portable format"));
  EXPECT_THAT(read(small_image() + " " + small_image()), HasSubstr("error: at byte"));
  EXPECT_THAT(read("\x04\x22\x4d\x18 and so on"), HasSubstr("lz4 -l"));
  EXPECT_THAT(read("\x89LZO and so on"), HasSubstr("lzo"));
}

TEST(InitramfsImage, a_plain_archive_cut_short_anywhere_is_said) {
  const std::string whole = small_image();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THAT(read(whole.substr(0, length)), HasSubstr("error: ")) << length;
  }
}

TEST(InitramfsImage, absurd_sizes_are_refused_without_memory_for_them) {
  const std::string image = small_image();
  const auto with = [&](std::size_t field, const char* digits) {
    std::string absurd = image;
    absurd.replace(6 + field * 8, 8, digits);
    return read(absurd);
  };
  EXPECT_THAT(with(11, "FFFFFFFF"), HasSubstr("a name of 4294967295 bytes"));
  EXPECT_THAT(with(11, "00000000"), HasSubstr("a name of 0 bytes"));
  EXPECT_THAT(with(6, "FFFFFFFF"), HasSubstr("cut short"));
  EXPECT_THAT(with(6, "-0000001"), HasSubstr("'-0000001'"));
  EXPECT_THAT(with(6, "0x000001"), HasSubstr("'0x000001'"));
  std::string large = make_newc({{conf, ""}});
  large.replace(6 + 6 * 8, 8, "F0000000");
  EXPECT_THAT(read(large), HasSubstr("at most 16777216 are read"));
}

TEST(InitramfsImage, two_hundred_thousand_entries_are_no_trouble) {
  std::string image;
  for (int i = 0; i < 200'000; ++i) testing::add_newc(image, {fmt::format("lib/{}", i), "x"});
  image += small_image();
  EXPECT_EQ(read(image), options);
  EXPECT_EQ(list_initramfs(MemoryBytes(image))->size(), 200'004U);
}

TEST(InitramfsImage, the_section_of_a_unified_kernel_image_is_read) {
  const std::string inside = microcode() + small_image();
  const auto put = [](std::string& to, std::size_t at, std::uint32_t value) {
    for (int i = 0; i < 4; ++i) to[at + i] = static_cast<char>(value >> (8 * i));
  };
  std::string uki(1024, '\0');
  uki.replace(0, 2, "MZ");
  put(uki, 0x3c, 128);
  uki.replace(128, 2, "PE");
  uki[128 + 6] = 2;     // Sections.
  uki[128 + 20] = 112;  // Bytes of the optional header.
  const std::size_t first = 128 + 24 + 112;
  uki.replace(first, 8, ".linux\0\0", 8);
  uki.replace(first + 40, 8, ".initrd\0", 8);
  put(uki, first + 48, static_cast<std::uint32_t>(inside.size()));
  put(uki, first + 56, static_cast<std::uint32_t>(inside.size()) + 100);
  put(uki, first + 60, 1024);
  const std::string whole = uki + inside + std::string(100, 'x');
  EXPECT_EQ(read(whole), options);
  EXPECT_THAT(read(uki), HasSubstr("cut short"));
  EXPECT_THAT(read(whole.substr(0, 300)), HasSubstr("headers are cut short"));
  uki[128 + 6] = 1;
  EXPECT_THAT(read(uki + inside), HasSubstr("without the section .initrd"));
  EXPECT_THAT(read("MZ" + std::string(100, 'a')), HasSubstr("a program that is neither"));
}

class ScratchImage : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = folder_->path();
    std::ofstream(root_ + "/" + std::string(WritableFiles::scratch_marker)) << "";
    std::filesystem::create_directories(root_ + "/etc/modprobe.d");
    std::filesystem::create_directories(root_ + "/boot");
    write("/etc/modprobe.d/ttm.conf", options);
  }
  void write(const std::string& path, const std::string& bytes) const {
    std::ofstream(root_ + path, std::ios::binary) << bytes;
  }
  Status expect() const {
    return expect_in_image(*WritableFiles::open(root_), "/boot/initrd.img",
                           "/etc/modprobe.d/ttm.conf");
  }
  Result<TemporaryFolder> folder_ = TemporaryFolder::make();
  std::string root_;
};

TEST_F(ScratchImage, what_holds_the_file_as_it_is_passes) {
  write("/boot/initrd.img", small_image());
  EXPECT_TRUE(expect());
  EXPECT_EQ(list_initramfs(*WritableFiles::open(root_), "/boot/initrd.img")->size(), 4U);
}

TEST_F(ScratchImage, an_older_copy_and_none_at_all_are_told_apart) {
  write("/boot/initrd.img", small_image("options ttm pages_limit=1\n"));
  ASSERT_FALSE(expect());
  EXPECT_EQ(expect().error().code, Errc::invalid);
  EXPECT_THAT(expect().error().message, HasSubstr("an older copy"));
  write("/boot/initrd.img", microcode());
  ASSERT_FALSE(expect());
  EXPECT_EQ(expect().error().code, Errc::not_found);
  EXPECT_THAT(expect().error().next, HasSubstr("update-initramfs"));
}

TEST_F(ScratchImage, an_error_names_the_image) {
  ASSERT_FALSE(expect());
  EXPECT_THAT(expect().error().message, HasSubstr("/boot/initrd.img"));
  write("/boot/initrd.img", "nonsense");
  EXPECT_THAT(expect().error().message, HasSubstr("reading /boot/initrd.img: at byte 0"));
  std::filesystem::remove(root_ + "/boot/initrd.img");
  std::filesystem::create_directory(root_ + "/boot/initrd.img");
  EXPECT_THAT(expect().error().message, HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace headroom::machine
