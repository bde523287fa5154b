// SPDX-License-Identifier: Apache-2.0
// What is written where something else than a file is.
#include "machine/user_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "machine/descriptor.h"
#include "machine/temporary_folder.h"

namespace headroom::machine {
namespace {

using testing::HasSubstr;

class UserFiles : public testing::Test {
 protected:
  UserFiles() : folder_(*TemporaryFolder::make()) {}

  std::string at(const std::string& name) const { return folder_.path() + "/" + name; }

  TemporaryFolder folder_;
};

TEST_F(UserFiles, a_link_stays_one_and_what_it_leads_to_is_replaced) {
  ASSERT_TRUE(write_file_atomic(at("file"), "old"));
  std::filesystem::create_symlink("file", at("link"));
  ASSERT_TRUE(write_file_atomic(at("link"), "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(at("link")));
  EXPECT_EQ(*read_file(at("file")), "new");
}

TEST_F(UserFiles, a_file_keeps_its_permissions_and_a_new_one_has_what_the_umask_leaves) {
  const auto mode_of = [this](const std::string& name) {
    struct stat status {};
    EXPECT_EQ(::stat(at(name).c_str(), &status), 0);
    return status.st_mode & 07777U;
  };
  const mode_t before = ::umask(027);
  ASSERT_TRUE(write_file_atomic(at("new"), "text"));
  ::umask(before);
  EXPECT_EQ(mode_of("new"), 0640U);
  ASSERT_EQ(::chmod(at("new").c_str(), 0604), 0);
  ASSERT_TRUE(write_file_atomic(at("new"), "more"));
  EXPECT_EQ(mode_of("new"), 0604U);
}

TEST_F(UserFiles, links_that_lead_in_circles_are_an_error) {
  std::filesystem::create_symlink("b", at("a"));
  std::filesystem::create_symlink("a", at("b"));
  EXPECT_FALSE(write_file_atomic(at("a"), "text"));
}

TEST_F(UserFiles, standard_output_is_written_to_where_it_stands) {
  const Descriptor file(::open(at("out").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::write(file.get(), "before ", 7), 7);
  ASSERT_TRUE(write_file_atomic("/proc/self/fd/" + std::to_string(file.get()), "after"));
  EXPECT_EQ(*read_file(at("out")), "before after");
}

// What root does to /dev/null otherwise cannot be tried here; to the writer both are no file.
TEST_F(UserFiles, a_pipe_is_written_to_and_stays_one) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(write_file_atomic(at("pipe"), "nobody reads"));
  const Descriptor reader(::open(at("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_GE(reader.get(), 0);
  ASSERT_TRUE(write_file_atomic(at("pipe"), "page"));
  std::array<char, 16> got{};
  EXPECT_EQ(::read(reader.get(), got.data(), got.size()), 4);
  EXPECT_STREQ(got.data(), "page");
  EXPECT_TRUE(std::filesystem::is_fifo(at("pipe")));
}

TEST_F(UserFiles, a_folder_is_no_file) {
  const Status written = write_file_atomic(folder_.path(), "page");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("expected a file, found a folder"));
  EXPECT_THAT(read_file(folder_.path()).error().message, HasSubstr("found a folder"));
}

TEST_F(UserFiles, one_file_has_many_names) {
  ASSERT_TRUE(write_file_atomic(at("file"), "text"));
  ASSERT_TRUE(write_file_atomic(at("other"), "text"));
  std::filesystem::create_symlink("file", at("link"));
  EXPECT_TRUE(is_same_file(at("file"), at("link")));
  EXPECT_TRUE(is_same_file(at("file"), folder_.path() + "/./file"));
  EXPECT_FALSE(is_same_file(at("file"), at("other")));
  EXPECT_FALSE(is_same_file(at("none"), at("none")));
}

}  // namespace
}  // namespace headroom::machine
