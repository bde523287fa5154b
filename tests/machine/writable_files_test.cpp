// SPDX-License-Identifier: Apache-2.0
// What WritableFiles writes, keeps and refuses.
#include "machine/writable_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "support/scratch_root.h"

namespace headroom::machine {
namespace {

namespace fs = std::filesystem;
using headroom::testing::difference;
using headroom::testing::Scratch;
using headroom::testing::ScratchRoot;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

FileAttributes ours(std::uint32_t mode = 0644) {
  return {mode, ::geteuid(), ::getegid(), {}};
}

class WritableFilesTest : public ::testing::Test {
 protected:
  WritableFiles open() { return *WritableFiles::open(root_.string()); }

  ScratchRoot root_;
};

TEST_F(WritableFilesTest, only_this_system_and_marked_roots_are_opened) {
  const Scratch unmarked;
  EXPECT_EQ(WritableFiles::open(unmarked.string()).error().code, Errc::not_this_system);
  EXPECT_EQ(WritableFiles::open("/no/such/folder").error().code, Errc::not_found);
  EXPECT_TRUE(WritableFiles::open("/")->is_real());
  EXPECT_EQ(WritableFiles::open("/")->root(), "");
  EXPECT_FALSE(open().is_real());
  EXPECT_EQ(WritableFiles::open(root_.string() + "/")->root(), root_.string());
}

TEST_F(WritableFilesTest, a_marker_that_is_a_link_or_a_folder_is_none) {
  const Scratch folder;
  fs::create_symlink(root_.path(WritableFiles::scratch_marker),
                     folder.path() / WritableFiles::scratch_marker);
  EXPECT_EQ(WritableFiles::open(folder.string()).error().code, Errc::not_this_system);
  fs::remove(folder.path() / WritableFiles::scratch_marker);
  fs::create_directory(folder.path() / WritableFiles::scratch_marker);
  EXPECT_EQ(WritableFiles::open(folder.string()).error().code, Errc::not_this_system);
}

TEST_F(WritableFilesTest, nothing_outside_the_root_is_read_or_changed) {
  const Scratch outside;
  std::ofstream(outside.path() / "kept") << "outside";
  const auto before = headroom::testing::take_snapshot(outside.path());
  root_.link("/etc/absolute", outside.string());
  root_.link("/etc/upwards", "../../../../../../../../.." + outside.string());
  root_.link("/etc/file", outside.string() + "/kept");
  WritableFiles files = open();
  const std::string climbing = "/../../../../../../../.." + outside.string();
  for (const std::string& folder : {std::string("/etc/absolute"), std::string("/etc/upwards"),
                                    climbing, "/etc/.." + climbing}) {
    EXPECT_EQ(files.replace(folder + "/kept", "changed", ours()).error().code, Errc::not_found);
    EXPECT_EQ(files.make_link(folder + "/link", "x").error().code, Errc::not_found);
    EXPECT_EQ(files.make_folder(folder + "/folder", 0755).error().code, Errc::not_found);
    EXPECT_EQ(files.lock(folder + "/lock").error().code, Errc::not_found);
    EXPECT_EQ(files.read(folder + "/kept").error().code, Errc::not_found);
    EXPECT_FALSE(files.look(folder + "/kept")->has_value());
    EXPECT_TRUE(files.match(folder + "/*")->empty());
    EXPECT_TRUE(files.remove(folder + "/kept").has_value());  // Nothing is there.
  }
  EXPECT_EQ(files.read("/etc/file").error().code, Errc::not_found);
  EXPECT_EQ(files.write_in_place("/etc/file", "changed").error().code, Errc::invalid);
  EXPECT_EQ(difference(before, headroom::testing::take_snapshot(outside.path())), "");
}

TEST_F(WritableFilesTest, a_link_inside_the_root_is_followed_on_the_way_and_not_at_its_end) {
  root_.write("/usr/etc/real", "old");
  root_.link("/etc", "/usr/etc");
  root_.link("/usr/etc/link", "real");
  WritableFiles files = open();
  EXPECT_EQ(*files.resolve("/etc/link"), "/usr/etc/real");
  EXPECT_EQ(*files.resolve("/etc/./new/../other"), "/usr/etc/other");
  EXPECT_EQ(*files.resolve("/../.."), "/");
  EXPECT_EQ(*files.read("/etc/link"), "old");
  EXPECT_EQ((*files.look("/etc/link"))->target, "real");
  ASSERT_TRUE(files.replace("/etc/link", "new", ours()).has_value());
  EXPECT_EQ((*files.look("/usr/etc/link"))->kind, EntryKind::file);
  EXPECT_EQ(root_.read("/usr/etc/real"), "old");
  root_.link("/a", "b");
  root_.link("/b", "a");
  EXPECT_EQ(files.resolve("/a").error().code, Errc::invalid);
  root_.link("/usr/etc/dangling", "/opt/none");
  EXPECT_EQ(*files.resolve("/etc/dangling"), "/opt/none");
}

TEST_F(WritableFilesTest, root_follows_a_users_link_only_to_what_is_theirs) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root makes files for others";
  root_.write("/etc/cron.d/job", "root's");
  root_.write("/people/u/dotfiles/bashrc", "theirs");
  root_.link("/people/u/.config", "/etc");
  root_.link("/people/u/.bashrc", "dotfiles/bashrc");
  root_.link("/people/u/.profile", "/etc/cron.d/job");
  root_.link("/people/u/new", "/etc/cron.d/new");
  root_.link("/people/link", "/etc/cron.d");  // Root's own.
  root_.link("/people/u/above", "/etc/theirs/..");
  root_.folder("/etc/theirs");
  ASSERT_EQ(::lchown(root_.path("/etc/theirs").c_str(), 1234, 1234), 0);
  for (const char* name :
       {"above", ".config", ".bashrc", ".profile", "new", "dotfiles", "dotfiles/bashrc"}) {
    ASSERT_EQ(::lchown(root_.path(std::string("/people/u/") + name).c_str(), 1234, 1234), 0);
  }
  WritableFiles files = open();
  const auto before = root_.snapshot();
  EXPECT_EQ(files.replace("/people/u/.config/x", "x", ours()).error().code, Errc::no_permission);
  EXPECT_EQ(files.replace("/people/u/above/x", "x", ours()).error().code, Errc::no_permission);
  EXPECT_EQ(files.remove("/people/u/.config/cron.d/job").error().code, Errc::no_permission);
  EXPECT_EQ(files.read("/people/u/.profile").error().code, Errc::no_permission);
  EXPECT_EQ(files.resolve("/people/u/new").error().code, Errc::no_permission);
  EXPECT_EQ(difference(before, root_.snapshot()), "");
  EXPECT_EQ(*files.resolve("/people/u/.bashrc"), "/people/u/dotfiles/bashrc");
  EXPECT_EQ(*files.read("/people/u/.bashrc"), "theirs");
  EXPECT_EQ(*files.read("/people/link/job"), "root's");
}

TEST_F(WritableFilesTest, mode_and_owner_are_as_asked_whatever_the_umask) {
  root_.write("/etc/secret", "old", 0640);
  WritableFiles files = open();
  const mode_t before = ::umask(0077);
  const FileAttributes kept = (*files.look("/etc/secret"))->attributes;
  EXPECT_TRUE(files.replace("/etc/secret", "new", kept).has_value());
  EXPECT_TRUE(files.replace("/etc/open", "new", ours(0666)).has_value());
  EXPECT_TRUE(files.make_folder("/etc/folder", 0755).has_value());
  ::umask(before);
  EXPECT_EQ((*files.look("/etc/secret"))->attributes, kept);
  EXPECT_EQ((*files.look("/etc/open"))->attributes.mode, 0666U);
  EXPECT_EQ((*files.look("/etc/folder"))->attributes.mode, 0755U);
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files to others";
  FileAttributes others{04750, 1234, 4321, {}};
  EXPECT_TRUE(files.replace("/etc/secret", "new", others).has_value());
  EXPECT_EQ((*files.look("/etc/secret"))->attributes, others);  // Set-user-ID survives the chown.
}

TEST_F(WritableFilesTest, labels_and_acls_come_along) {
  root_.write("/etc/file", "old", 0640);
  const std::string path = root_.path("/etc/file");
  const std::string label("system_u:object_r:etc_t:s0\0", 27);  // As SELinux writes it.
  // user::rw-, user:1234:r--, group::---, mask::r--, other::---, as in linux/posix_acl_xattr.h.
  const unsigned char acl[] = {2,   0,   0,   0,    1,   0,    6,    0,   255, 255, 255,
                               255, 2,   0,   4,    0,   0xd2, 4,    0,   0,   4,   0,
                               0,   0,   255, 255,  255, 255,  0x10, 0,   4,   0,   255,
                               255, 255, 255, 0x20, 0,   0,    0,    255, 255, 255, 255};
  if (::setxattr(path.c_str(), "user.note", "a\0b", 3, 0) != 0) {
    GTEST_SKIP() << "this file system has no extended attributes: " << std::strerror(errno);
  }
  ::setxattr(path.c_str(), "security.selinux", label.data(), label.size(), 0);
  ::setxattr(path.c_str(), "system.posix_acl_access", acl, sizeof acl, 0);
  WritableFiles files = open();
  const FileAttributes kept = (*files.look("/etc/file"))->attributes;
  EXPECT_EQ(kept.extended.at("user.note"), std::string("a\0b", 3));
  if (::geteuid() == 0) {
    EXPECT_EQ(kept.extended.at("security.selinux"), label);
    EXPECT_TRUE(kept.extended.contains("system.posix_acl_access"));
  }
  ASSERT_TRUE(files.replace("/etc/file", "new", kept).has_value());
  EXPECT_EQ((*files.look("/etc/file"))->attributes, kept);
  ASSERT_TRUE(files.copy("/etc/file", "/etc/copy", kept).has_value());
  EXPECT_EQ((*files.look("/etc/copy"))->attributes, kept);
}

TEST_F(WritableFilesTest, an_acl_that_the_folder_hands_down_is_not_kept_unasked) {
  root_.folder("/etc");
  const unsigned char acl[] = {2,   0,   0,   0,    1,   0,    6,    0,   255, 255, 255,
                               255, 2,   0,   6,    0,   0xd2, 4,    0,   0,   4,   0,
                               0,   0,   255, 255,  255, 255,  0x10, 0,   6,   0,   255,
                               255, 255, 255, 0x20, 0,   0,    0,    255, 255, 255, 255};
  if (::setxattr(root_.path("/etc").c_str(), "system.posix_acl_default", acl, sizeof acl, 0) != 0) {
    GTEST_SKIP() << "this file system has no ACLs: " << std::strerror(errno);
  }
  WritableFiles files = open();
  ASSERT_TRUE(files.replace("/etc/file", "new", ours(0644)).has_value());
  EXPECT_EQ((*files.look("/etc/file"))->attributes, ours(0644));
}

TEST_F(WritableFilesTest, who_may_not_give_the_file_away_changes_nothing) {
  if (::geteuid() == 0) {
    // As somebody else, in a process of its own.
    ASSERT_EQ(::chmod(root_.string().c_str(), 0777), 0);
    const auto before = root_.snapshot();
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(2);
      auto files = WritableFiles::open(root_.string());
      const Status status = files->replace("/file", "new", {0644, 0, 0, {}});
      ::_exit(!status && status.error().code == Errc::no_permission ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(difference(before, root_.snapshot()), "");
    return;
  }
  WritableFiles files = open();
  const auto before = root_.snapshot();
  EXPECT_EQ(files.replace("/file", "new", {0644, 0, 0, {}}).error().code, Errc::no_permission);
  EXPECT_EQ(difference(before, root_.snapshot()), "");
}

TEST_F(WritableFilesTest, what_is_large_is_copied_whole) {
  std::string bytes;
  while (bytes.size() < (std::size_t{3} << 20U) + 5) bytes += std::to_string(bytes.size()) + '\0';
  root_.write("/boot/image", bytes);
  root_.write("/boot/empty", "");
  root_.link("/boot/link", "image");
  WritableFiles files = open();
  ASSERT_TRUE(files.copy("/boot/link", "/saved", ours(0600)).has_value());
  EXPECT_TRUE(root_.read("/saved") == bytes);
  ASSERT_TRUE(files.copy("/boot/empty", "/saved", ours(0600)).has_value());
  EXPECT_EQ((*files.look("/saved"))->size, 0U);
  EXPECT_EQ(files.copy("/boot", "/saved", ours()).error().code, Errc::invalid);
  EXPECT_EQ(files.copy("/none", "/saved", ours()).error().code, Errc::not_found);
}

TEST_F(WritableFilesTest, links_folders_and_absence) {
  WritableFiles files = open();
  ASSERT_TRUE(files.make_folder("/opt", 0750).has_value());
  ASSERT_TRUE(files.make_folder("/opt", 0755).has_value());
  EXPECT_EQ((*files.look("/opt"))->attributes.mode, 0750U);
  ASSERT_TRUE(files.make_link("/opt/lib.so", "lib.so.1").has_value());
  ASSERT_TRUE(files.make_link("/opt/lib.so", "lib.so.2").has_value());
  EXPECT_EQ((*files.look("/opt/lib.so"))->target, "lib.so.2");
  EXPECT_FALSE(files.remove_folder("/opt").has_value());
  ASSERT_TRUE(files.remove("/opt/lib.so").has_value());
  ASSERT_TRUE(files.remove("/opt/lib.so").has_value());
  ASSERT_TRUE(files.remove_folder("/opt/").has_value());
  ASSERT_TRUE(files.remove_folder("/opt").has_value());
  EXPECT_TRUE(files.remove("/opt/lib.so").has_value());
  EXPECT_FALSE(files.look("/opt")->has_value());
  EXPECT_FALSE(files.look("/.headroom-scratch-root/below")->has_value());
  EXPECT_EQ(files.make_folder("/.headroom-scratch-root", 0755).error().code, Errc::io);
  EXPECT_EQ(files.replace("/no/folder/file", "x", ours()).error().code, Errc::not_found);
  for (const std::string& path : {std::string("/"), std::string(""), std::string("/opt/.."),
                                  std::string("/."), std::string("/a\0b", 4)}) {
    EXPECT_EQ(files.replace(path, "x", ours()).error().code, Errc::invalid) << path;
  }
  EXPECT_EQ(files.look({"/a\0b", 4}).error().code, Errc::invalid);
  EXPECT_EQ(files.make_link("/a", {"b\0c", 3}).error().code, Errc::invalid);
  EXPECT_EQ(files.make_link("/a", "").error().code, Errc::invalid);
}

TEST_F(WritableFilesTest, a_folder_in_the_way_is_not_replaced) {
  root_.folder("/etc/x");
  WritableFiles files = open();
  const auto before = root_.snapshot();
  EXPECT_EQ(files.replace("/etc/x", "new", ours()).error().code, Errc::invalid);
  EXPECT_EQ(files.remove("/etc/x").error().code, Errc::invalid);
  EXPECT_EQ(difference(before, root_.snapshot()), "");
}

TEST_F(WritableFilesTest, a_star_matches_within_one_folder_and_no_leftovers) {
  for (const char* name : {"initrd.img-6.1", "initrd.img-6.12", "vmlinuz-6.1", "[x]?", "xx?"}) {
    root_.write(std::string("/boot/") + name, "");
  }
  root_.write("/boot/.initrd.img-6.1.headroom-new", "");
  root_.folder("/boot/initrd.img-folder");
  const WritableFiles files = open();
  EXPECT_THAT(
      *files.match("/boot/initrd.img-*"),
      ElementsAre("/boot/initrd.img-6.1", "/boot/initrd.img-6.12", "/boot/initrd.img-folder"));
  EXPECT_THAT(*files.match("/boot/*.1"), ElementsAre("/boot/initrd.img-6.1", "/boot/vmlinuz-6.1"));
  EXPECT_THAT(*files.match("/boot/[x]*"), ElementsAre("/boot/[x]?"));
  EXPECT_THAT(*files.match("/boot/vmlinuz-6.1"), ElementsAre("/boot/vmlinuz-6.1"));
  EXPECT_THAT(*files.match("/*"), ElementsAre("/.headroom-scratch-root", "/boot"));
  EXPECT_TRUE(files.match("/boot/none")->empty());
  EXPECT_TRUE(files.match("/none/*")->empty());
  EXPECT_TRUE(files.match("/b*/vmlinuz-6.1")->empty());
}

TEST_F(WritableFilesTest, the_kernels_files_are_written_at_once_and_only_there) {
  const std::string name = "/sys/module/ttm/parameters/pages_limit";
  root_.write(name, "31457280\n");
  root_.write("/etc/file", "old");
  root_.link("/sys/link", "module/ttm/parameters/pages_limit");
  root_.link("/sys/out", "../etc/file");
  WritableFiles files = open();
  ASSERT_TRUE(files.write_in_place("/sys/link", "4096\n").has_value());
  EXPECT_EQ(root_.read(name), "4096\n");
  EXPECT_EQ(files.write_in_place("/sys/none", "1").error().code, Errc::not_found);
  EXPECT_FALSE(root_.has("/sys/none"));
  EXPECT_EQ(files.write_in_place("/sys/module", "1").error().code, Errc::invalid);
  EXPECT_EQ(files.write_in_place("/sys/out", "1").error().code, Errc::invalid);
  EXPECT_EQ(files.write_in_place("/etc/file", "1").error().code, Errc::invalid);
  EXPECT_EQ(root_.read("/etc/file"), "old");
}

TEST_F(WritableFilesTest, files_that_act_are_neither_read_nor_changed) {
  const std::string name = "/sys/kernel/debug/dri/1/amdgpu_gpu_recover";
  root_.write(name, "0");
  root_.link("/sys/harmless", name);
  WritableFiles files = open();
  for (const std::string& path : {name, std::string("/sys/harmless")}) {
    EXPECT_EQ(files.read(path).error().code, Errc::unsupported);
    EXPECT_EQ(files.write_in_place(path, "1").error().code, Errc::unsupported);
    EXPECT_EQ(files.copy(path, "/copy", ours()).error().code, Errc::unsupported);
  }
  EXPECT_EQ(files.replace(name, "1", ours()).error().code, Errc::unsupported);
  EXPECT_EQ(files.make_link(name, "1").error().code, Errc::unsupported);
  EXPECT_EQ(files.remove(name).error().code, Errc::unsupported);
  EXPECT_EQ(root_.read(name), "0");
}

TEST_F(WritableFilesTest, what_is_no_regular_file_is_refused_without_waiting) {
  ASSERT_EQ(::mkfifo(root_.path("/pipe").c_str(), 0600), 0);
  const WritableFiles files = open();
  EXPECT_EQ(files.read("/pipe").error().code, Errc::invalid);
  EXPECT_EQ((*files.look("/pipe"))->kind, EntryKind::other);
  root_.write("/long", "12345");
  EXPECT_EQ(files.read("/long", 4).error().code, Errc::invalid);
  EXPECT_EQ(*files.read("/long", 5), "12345");
}

TEST_F(WritableFilesTest, one_at_a_time_holds_the_lock) {
  WritableFiles files = open();
  {
    const auto held = files.lock("/lock");
    ASSERT_TRUE(held.has_value());
    const auto second = open().lock("/lock");
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().code, Errc::busy);
    EXPECT_THAT(second.error().message, HasSubstr("/lock"));
    EXPECT_NE(second.error().next, "");
  }
  EXPECT_TRUE(open().lock("/lock").has_value());
}

TEST_F(WritableFilesTest, free_space_is_told_of_what_is_not_there_yet) {
  const WritableFiles files = open();
  root_.link("/var", "/srv");
  EXPECT_GT(*files.free_bytes("/"), 0U);
  EXPECT_GT(*files.free_bytes("/var/lib/headroom/changes/x"), 0U);
}

}  // namespace
}  // namespace headroom::machine
