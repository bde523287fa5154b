// SPDX-License-Identifier: Apache-2.0
// Trees into folders and archives and back, and archives that mean harm.
#include "machine/tree_writer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "machine/libarchive.h"
#include "machine/open_root.h"
#include "machine/unpack.h"
#include "machine/user_files.h"

namespace headroom::machine {
namespace {

namespace fs = std::filesystem;

class TreeWriterTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = TemporaryFolder::make();
    ASSERT_TRUE(folder.has_value());
    scratch_.emplace(*std::move(folder));
  }
  std::string at(const std::string& name) const { return scratch_->path() + "/" + name; }
  bool has_archives() const { return Libarchive::load().has_value(); }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(scratch_->path()), fs::directory_iterator()));
  }

  std::optional<TemporaryFolder> scratch_;
};

void write_sample(TreeWriter& writer) {
  ASSERT_TRUE(writer.folder("dev").has_value());
  ASSERT_TRUE(writer.folder("dev").has_value());
  ASSERT_TRUE(writer.file("sys/devices/card/vendor", "0x1002\n").has_value());
  ASSERT_TRUE(writer.file("sys/n\xc3\xa4me", std::string(200'000, '0')).has_value());
  ASSERT_TRUE(writer.file("sys/empty", "").has_value());
  ASSERT_TRUE(writer.link("sys/class/card1", "../devices/card").has_value());
  ASSERT_TRUE(writer.link("proc/7/fd/3", "/dev/dri/renderD128").has_value());
  ASSERT_TRUE(writer.finish().has_value());
}

void expect_sample(const Files& files) {
  EXPECT_EQ(*files.read("/sys/class/card1/vendor"), "0x1002\n");
  EXPECT_EQ(files.read("/sys/n\xc3\xa4me")->size(), 200'000U);
  EXPECT_EQ(*files.read("/sys/empty"), "");
  EXPECT_EQ(*files.read_link("/proc/7/fd/3"), "/dev/dri/renderD128");
  EXPECT_TRUE(files.list("/dev")->empty());
}

TEST_F(TreeWriterTest, a_folder_is_read_as_it_was_written) {
  write_sample(**make_folder_writer(at("out")));
  expect_sample(*Files::open(at("out")));
}

TEST_F(TreeWriterTest, an_archive_is_read_as_it_was_written_and_nothing_is_left_behind) {
  if (!has_archives()) GTEST_SKIP() << "libarchive is not installed";
  write_sample(**make_archive_writer(at("out.tar.zst")));
  std::string unpacked;
  {
    const auto root = open_root(at("out.tar.zst"));
    ASSERT_TRUE(root.has_value()) << root.error().message;
    expect_sample(root->files);
    unpacked = root->unpacked->path();
    EXPECT_EQ(fs::status(unpacked).permissions(), fs::perms::owner_all);
  }
  EXPECT_FALSE(fs::exists(unpacked));
}

TEST_F(TreeWriterTest, the_same_tree_is_the_same_bytes) {
  if (!has_archives()) GTEST_SKIP() << "libarchive is not installed";
  write_sample(**make_archive_writer(at("a.tar.zst")));
  write_sample(**make_archive_writer(at("b.tar.zst")));
  EXPECT_EQ(*read_file(at("a.tar.zst")), *read_file(at("b.tar.zst")));
}

TEST_F(TreeWriterTest, what_is_there_is_never_overwritten) {
  std::ofstream(at("file")) << "mine";
  fs::create_directories(at("full/of"));
  EXPECT_FALSE(make_folder_writer(at("full")).has_value());
  EXPECT_FALSE(make_folder_writer(at("file")).has_value());
  EXPECT_FALSE(make_folder_writer(at("no/parent")).has_value());
  if (has_archives()) {
    EXPECT_FALSE(make_archive_writer(at("file")).has_value());
  }
  EXPECT_EQ(*read_file(at("file")), "mine");
}

TEST_F(TreeWriterTest, what_is_not_finished_is_gone_and_the_folder_that_was_there_stays) {
  fs::create_directory(at("before"));
  for (const char* name : {"before", "new"}) {
    const auto writer = *make_folder_writer(at(name));
    ASSERT_TRUE(writer->file("a/b", "x").has_value());
  }
  if (has_archives()) {
    const auto writer = *make_archive_writer(at("new.tar.zst"));
    ASSERT_TRUE(writer->file("a/b", "x").has_value());
  }
  EXPECT_TRUE(fs::is_empty(at("before")));
  EXPECT_EQ(entries(), 1U);
}

TEST_F(TreeWriterTest, no_path_leads_out_of_the_tree) {
  const auto writer = *make_folder_writer(at("out"));
  const std::vector<std::string> paths{"../x", "a/../../x",           "/x", "", ".",
                                       "a/..", std::string(5000, 'a')};
  for (const std::string& path : paths) {
    EXPECT_FALSE(writer->file(path, "x").has_value()) << path;
    EXPECT_FALSE(writer->folder(path).has_value()) << path;
    EXPECT_FALSE(writer->link(path, "x").has_value()) << path;
  }
  fs::create_directory(at("elsewhere"));
  ASSERT_TRUE(writer->link("door", "../elsewhere").has_value());
  EXPECT_FALSE(writer->file("door/x", "x").has_value());
  EXPECT_FALSE(writer->folder("door").has_value());
  EXPECT_FALSE(writer->file("door", "x").has_value());
  ASSERT_TRUE(writer->folder("inside").has_value());
  ASSERT_TRUE(writer->link("corridor", "inside").has_value());
  EXPECT_FALSE(writer->file("corridor/x", "x").has_value());
  EXPECT_TRUE(fs::is_empty(at("elsewhere")));
}

TEST_F(TreeWriterTest, a_full_disk_is_said_and_nothing_remains) {
  if (!has_archives()) GTEST_SKIP() << "libarchive is not installed";
  // A file size limit stands in for the full disk.
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit tiny {
    16, before.rlim_max
  };
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tiny), 0);
  bool folder_failed = false;
  bool archive_failed = false;
  {
    const auto folder = *make_folder_writer(at("out"));
    folder_failed = !folder->file("a", std::string(100, 'x')).has_value();
    const auto archive = *make_archive_writer(at("out.tar.zst"));
    archive_failed = !archive->file("a", "x").has_value() || !archive->finish().has_value();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_TRUE(folder_failed && archive_failed);
  EXPECT_EQ(entries(), 0U);
}

// One entry of a tar as POSIX ustar writes it; `size` may lie about the bytes.
std::string tar_entry(const std::string& name, char type, const std::string& bytes,
                      const std::string& target = "", std::size_t size = SIZE_MAX) {
  std::string header(512, '\0');
  const auto put = [&](std::size_t offset, const std::string& text) {
    header.replace(offset, text.size(), text);
  };
  put(0, name);
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, fmt::format("{:011o}", size == SIZE_MAX ? bytes.size() : size));
  put(136, "00000000000");
  put(148, "        ");
  header[156] = type;
  put(157, target);
  put(257, std::string("ustar\00000", 8));
  unsigned sum = 0;
  for (const char byte : header) sum += static_cast<unsigned char>(byte);
  put(148, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  return header + bytes + std::string((512 - bytes.size() % 512) % 512, '\0');
}

class Unpack : public TreeWriterTest {
 protected:
  void SetUp() override {
    TreeWriterTest::SetUp();
    if (!has_archives()) GTEST_SKIP() << "libarchive is not installed";
  }
  // What unpacking says; empty if it worked.
  std::string unpack_tar(const std::string& entries, const UnpackLimits& limits = {}) {
    std::ofstream(at("in.tar"), std::ios::binary) << entries + std::string(1024, '\0');
    const auto writer = *make_folder_writer(at("out"));
    const Status status = unpack(at("in.tar"), *writer, limits);
    EXPECT_FALSE(fs::exists(at("x")));
    return status ? "" : status.error().message;
  }
};

TEST_F(Unpack, a_plain_tar_is_taken) {
  EXPECT_EQ(unpack_tar(tar_entry("./", '5', "") + tar_entry("./sys/a", '0', "1\n")), "");
}

TEST_F(Unpack, what_leads_out_or_is_no_file_is_refused) {
  const std::map<std::string, std::string> entries{
      {"a path upwards", tar_entry("../x", '0', "1")},
      {"a path upwards inside", tar_entry("sys/../../x", '0', "1")},
      {"a path from the root", tar_entry("/x", '0', "1")},
      {"through a link", tar_entry("door", '2', "", "..") + tar_entry("door/x", '0', "1")},
      {"over a link", tar_entry("door", '2', "", "../x") + tar_entry("door", '0', "1")},
      {"a hard link", tar_entry("a", '0', "1") + tar_entry("b", '1', "", "/etc/passwd")},
      {"a device", tar_entry("null", '3', "")},
      {"a pipe", tar_entry("pipe", '6', "")},
  };
  for (const auto& [what, bytes] : entries) EXPECT_NE(unpack_tar(bytes), "") << what;
}

TEST_F(Unpack, a_bomb_is_refused) {
  UnpackLimits limits;
  limits.entries = 3;
  limits.total_bytes = 1000;
  const std::string file = tar_entry("a", '0', std::string(600, 'x'));
  EXPECT_NE(unpack_tar(file + tar_entry("b", '0', std::string(600, 'x')), limits), "");
  EXPECT_NE(unpack_tar(tar_entry("a", '0', "", "", std::size_t{1} << 32U), limits), "");
  std::string many;
  for (const char* name : {"a", "b", "c", "d"}) many += tar_entry(name, '0', "");
  EXPECT_NE(unpack_tar(many, limits), "");
  EXPECT_EQ(unpack_tar(file, limits), "");
}

TEST_F(Unpack, a_compressed_bomb_is_refused_by_what_comes_out_of_it) {
  {
    const auto bomb = *make_archive_writer(at("bomb.tar.zst"));
    ASSERT_TRUE(bomb->file("zeros", std::string(std::size_t{8} << 20U, '\0')).has_value());
    ASSERT_TRUE(bomb->finish().has_value());
  }
  EXPECT_LT(fs::file_size(at("bomb.tar.zst")), 10'000U);
  const auto writer = *make_folder_writer(at("out"));
  const Status status = unpack(at("bomb.tar.zst"), *writer, {10, std::uint64_t{1} << 20U});
  ASSERT_FALSE(status.has_value());
  EXPECT_NE(status.error().message.find("more than 1.0 MiB"), std::string::npos)
      << status.error().message;
}

TEST_F(Unpack, cut_short_anywhere_it_fails_and_leaves_nothing) {
  write_sample(**make_archive_writer(at("whole.tar.zst")));
  const std::string whole = *read_file(at("whole.tar.zst"));
  for (std::size_t length = 0; length + 1 < whole.size(); length += 1 + whole.size() / 97) {
    std::ofstream(at("cut.tar.zst"), std::ios::binary) << whole.substr(0, length);
    EXPECT_FALSE(open_root(at("cut.tar.zst")).has_value()) << length << " of " << whole.size();
  }
}

TEST_F(Unpack, garbled_bytes_never_do_harm) {
  write_sample(**make_archive_writer(at("whole.tar.zst")));
  const std::string whole = *read_file(at("whole.tar.zst"));
  for (std::size_t position = 0; position < whole.size(); position += 1 + whole.size() / 61) {
    std::string garbled = whole;
    garbled[position] = static_cast<char>(~garbled[position]);
    std::ofstream(at("garbled.tar.zst"), std::ios::binary) << garbled;
    (void)open_root(at("garbled.tar.zst"));
  }
  EXPECT_EQ(entries(), 2U);
}

TEST_F(Unpack, a_single_folder_at_the_top_counts_as_the_root) {
  std::ofstream(at("in.tar"), std::ios::binary) << tar_entry("my-machine/", '5', "") +
                                                       tar_entry("my-machine/sys/a", '0', "1\n") +
                                                       std::string(1024, '\0');
  const auto root = open_root(at("in.tar"));
  ASSERT_TRUE(root.has_value()) << root.error().message;
  EXPECT_EQ(*root->files.read("/sys/a"), "1\n");
}

TEST_F(TreeWriterTest, a_file_that_is_no_archive_is_said_to_be_none) {
  std::ofstream(at("job.toml")) << "[model]\n";
  const auto root = open_root(at("job.toml"));
  ASSERT_FALSE(root.has_value());
  EXPECT_NE(root.error().message.find("found a file that is neither"), std::string::npos);
  EXPECT_EQ(open_root(at("none")).error().code, Errc::not_found);
}

}  // namespace
}  // namespace headroom::machine
