// SPDX-License-Identifier: Apache-2.0
#include "machine/files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "machine/os_error.h"
#include "machine/user_files.h"

namespace headroom::machine {
namespace {

namespace fs = std::filesystem;

class FilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "headroom-files-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    outside_ = root_ / "outside";
    machine_ = root_ / "machine";
    fs::create_directories(outside_);
    fs::create_directories(machine_ / "sys/devices/card");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  Files open() { return *Files::open(machine_.string()); }

  fs::path root_, outside_, machine_;
};

TEST_F(FilesTest, reads_lists_and_follows_links_inside_the_root) {
  write(machine_ / "sys/devices/card/vendor", "0x1002\n");
  fs::create_directories(machine_ / "sys/class/drm");
  fs::create_directory_symlink("../../devices/card", machine_ / "sys/class/drm/card1");
  const Files files = open();
  EXPECT_EQ(*files.read("/sys/class/drm/card1/vendor"), "0x1002\n");
  EXPECT_EQ(*files.list("/sys/class/drm"), std::vector<std::string>{"card1"});
  EXPECT_EQ(*files.read_link("/sys/class/drm/card1"), "../../devices/card");
  EXPECT_EQ(*files.resolve("/sys/class/drm/card1/vendor"), "/sys/devices/card/vendor");
  EXPECT_FALSE(files.is_real());
}

TEST_F(FilesTest, the_tail_of_a_log_begins_with_a_whole_line) {
  write(machine_ / "var/log/a.log", "first\nsecond\nthird\n");
  const Files files = open();
  EXPECT_EQ(*files.read_tail("/var/log/a.log", 100), "first\nsecond\nthird\n");
  EXPECT_EQ(*files.read_tail("/var/log/a.log", 19), "first\nsecond\nthird\n");
  EXPECT_EQ(*files.read_tail("/var/log/a.log", 13), "second\nthird\n");
  EXPECT_EQ(*files.read_tail("/var/log/a.log", 12), "third\n");
  EXPECT_EQ(*files.read_tail("/var/log/a.log", 3), "");
  EXPECT_EQ(*files.read_tail("/var/log/a.log", 0), "");
}

TEST_F(FilesTest, a_huge_log_is_read_at_its_end_alone) {
  write(machine_ / "huge.log", "");
  constexpr std::uintmax_t size = std::uintmax_t{1} << 40U;  // Sparse.
  fs::resize_file(machine_ / "huge.log", size);
  std::ofstream(machine_ / "huge.log", std::ios::app) << "\nlast\n";
  EXPECT_EQ(*open().read_tail("/huge.log", 10), "last\n");
}

TEST_F(FilesTest, what_is_no_file_has_no_tail) {
  fs::create_directories(machine_ / "var/log/folder");
  ASSERT_EQ(::mkfifo((machine_ / "var/log/pipe").c_str(), 0600), 0);
  fs::create_symlink("loop", machine_ / "var/log/loop");
  write(outside_ / "secret", "outside");
  fs::create_symlink(outside_ / "secret", machine_ / "var/log/out");
  for (const char* name : {"folder", "pipe", "loop", "out", "absent"}) {
    EXPECT_FALSE(open().read_tail("/var/log/" + std::string(name), 100)) << name;
  }
}

TEST_F(FilesTest, a_copy_does_not_say_when_a_file_was_modified) {
  write(machine_ / "a", "a");
  EXPECT_EQ(open().modified("/a").error().code, Errc::not_this_system);
  const auto real = Files::open("/")->modified((machine_ / "a").string());
  ASSERT_TRUE(real);
  EXPECT_EQ(real->size(), 19U) << *real;
}

TEST_F(FilesTest, no_link_leads_out_of_the_root) {
  write(outside_ / "secret", "outside");
  write(machine_ / "etc/os-release", "inside");
  fs::create_symlink(outside_ / "secret", machine_ / "absolute");
  fs::create_symlink("../outside/secret", machine_ / "upwards");
  fs::create_symlink("/etc/os-release", machine_ / "own");
  const Files files = open();
  EXPECT_EQ(files.read("/absolute").error().code, Errc::not_found);
  EXPECT_EQ(files.read("/upwards").error().code, Errc::not_found);
  EXPECT_EQ(files.read("/../outside/secret").error().code, Errc::not_found);
  EXPECT_EQ(*files.read("/own"), "inside");
}

TEST_F(FilesTest, a_captured_link_kept_as_text_is_followed) {
  write(machine_ / "sys/devices/card/vendor", "0x1002\n");
  write(machine_ / "sys/devices/card/drm/card1/dev", "226:1\n");
  write(machine_ / "sys/devices/card/drm/card1/device", "../../../card");
  write(machine_ / "sys/class/drm/card1", "../../devices/card/drm/card1");
  write(machine_ / "proc/7/fd/3", "/dev/dri/renderD128");
  const Files files = open();
  EXPECT_EQ(*files.read("/sys/class/drm/card1/device/vendor"), "0x1002\n");
  EXPECT_EQ(*files.read_link("/proc/7/fd/3"), "/dev/dri/renderD128");
  EXPECT_EQ(*files.list("/sys/class/drm/card1"), (std::vector<std::string>{"dev", "device"}));
}

TEST_F(FilesTest, ordinary_text_is_no_link_and_a_circle_ends) {
  write(machine_ / "plain", "hello");
  write(machine_ / "sys/a", "../sys/b");
  write(machine_ / "sys/b", "../sys/a");
  const Files files = open();
  EXPECT_FALSE(files.read_link("/plain").has_value());
  EXPECT_EQ(files.read("/plain/child").error().code, Errc::not_found);
  EXPECT_EQ(files.read("/sys/a/child").error().code, Errc::invalid);
}

TEST_F(FilesTest, what_is_no_regular_file_is_refused_without_waiting) {
  ASSERT_EQ(::mkfifo((machine_ / "pipe").c_str(), 0600), 0);
  const Files files = open();
  EXPECT_EQ(files.read("/pipe").error().code, Errc::invalid);
  EXPECT_EQ(files.read("/sys").error().code, Errc::invalid);
}

TEST_F(FilesTest, a_long_file_is_an_error_not_a_part) {
  write(machine_ / "long", std::string(5000, 'x'));
  EXPECT_EQ(open().read("/long", 4096).error().code, Errc::invalid);
  EXPECT_EQ(open().read("/long", 5000)->size(), 5000U);
}

TEST_F(FilesTest, recorded_read_errors_come_back) {
  write(machine_ / "MANIFEST.json", R"({"read_errors": {"sys/secret": "EPERM"}})");
  write(machine_ / "sys/here", "1");
  const Files files = open();
  EXPECT_EQ(files.read("/sys/secret").error().code, Errc::no_permission);
  EXPECT_EQ(files.read("/sys/secret/child").error().code, Errc::no_permission);
  EXPECT_EQ(files.read("/sys/other").error().code, Errc::not_found);
  EXPECT_EQ(*files.read("/sys/here"), "1");
}

TEST_F(FilesTest, a_recorded_error_is_known_by_its_real_name_too) {
  fs::create_directories(machine_ / "sys/class");
  fs::create_directory_symlink("../devices/card", machine_ / "sys/class/card1");
  write(machine_ / "MANIFEST.json", R"({"read_errors": {"sys/class/card1/secret": "EPERM"}})");
  EXPECT_EQ(open().read("/sys/class/card1/secret").error().code, Errc::no_permission);
  EXPECT_EQ(open().read("/sys/devices/card/secret").error().code, Errc::no_permission);
}

TEST(Files, the_real_root_is_known_by_identity) {
  EXPECT_TRUE(Files::open("/")->is_real());
  EXPECT_TRUE(Files::open("/../")->is_real());
  EXPECT_EQ(Files::open("/no/such/folder").error().code, Errc::not_found);
}

TEST_F(FilesTest, a_written_file_is_whole_and_keeps_its_mode) {
  const std::string path = (machine_ / "report.json").string();
  ASSERT_TRUE(write_file_atomic(path, "old").has_value());
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(write_file_atomic(path, "new").has_value());
  EXPECT_EQ(*read_file(path), "new");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(read_file((machine_ / "none").string()).error().code, Errc::not_found);
  EXPECT_EQ(read_file(machine_.string()).error().code, Errc::invalid);
}

TEST_F(FilesTest, a_failed_write_leaves_the_old_file_and_nothing_else) {
  EXPECT_FALSE(write_file_atomic((machine_ / "no/such/place").string(), "x").has_value());
  const fs::path folder = machine_ / "folder";
  fs::create_directories(folder / "child");
  EXPECT_FALSE(write_file_atomic(folder.string(), "x").has_value());
  for (const auto& entry : fs::directory_iterator(machine_)) {
    EXPECT_EQ(entry.path().string().find("folder."), std::string::npos) << entry.path();
  }
}

TEST_F(FilesTest, a_full_disk_is_no_space_and_leaves_the_old_file) {
  const std::string path = (machine_ / "kept").string();
  ASSERT_TRUE(write_file_atomic(path, "old").has_value());
  // A file size limit stands in for the full disk; the kernel then fails the write in the same
  // place.
  EXPECT_EQ(os_error(ENOSPC, "writing").code, Errc::no_space);
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit tiny {
    16, before.rlim_max
  };
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tiny), 0);
  const Status written = write_file_atomic(path, std::string(100, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_FALSE(written.has_value());
  EXPECT_EQ(*read_file(path), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(machine_), fs::directory_iterator()), 2);
}

// The kernel then answers EAGAIN for a path with "..", as those through sysfs's links are.
TEST_F(FilesTest, files_are_found_while_others_rename_theirs) {
  fs::create_directories(machine_ / "class/card0");
  fs::create_directories(machine_ / "devices/gpu");
  std::ofstream(machine_ / "devices/gpu/vendor") << "0x1002\n";
  fs::create_symlink("../../devices/gpu", machine_ / "class/card0/device");
  std::ofstream(machine_ / "a") << "";
  std::atomic<bool> done = false;
  std::thread renamer([&] {
    while (!done) {
      fs::rename(machine_ / "a", machine_ / "b");
      fs::rename(machine_ / "b", machine_ / "a");
    }
  });
  const auto files = Files::open(machine_.string());
  int failed = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (!files->read("/class/card0/device/vendor")) ++failed;
  }
  done = true;
  renamer.join();
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace headroom::machine
