// SPDX-License-Identifier: Apache-2.0
#include "machine/output_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "machine/temporary_folder.h"
#include "machine/user_files.h"

namespace headroom::machine {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class OutputFiles : public testing::Test {
 protected:
  OutputFiles() : folder_(*TemporaryFolder::make()) {
    write("input");
    write("other");
  }

  std::string at(const std::string& name) const { return folder_.path() + "/" + name; }
  void write(const std::string& name) { ASSERT_TRUE(write_file_atomic(at(name), name)); }
  bool is_refused(const std::string& output, const InputFiles& inputs) const {
    const Status good = check_names({{"--report", output}}, inputs);
    return !good && good.error().code == Errc::invalid;
  }

  TemporaryFolder folder_;
};

TEST_F(OutputFiles, an_input_is_no_output_under_any_name) {
  fs::create_symlink("input", at("link"));
  fs::create_hard_link(at("input"), at("hard"));
  fs::create_directory(at("folder"));
  fs::create_directory_symlink(".", at("same"));
  for (const char* name : {"input", "link", "hard", "folder/../input", "same/input", "./input"}) {
    EXPECT_TRUE(is_refused(at(name), {{at("input")}, {}})) << name;
  }
  EXPECT_FALSE(is_refused(at("other"), {{at("input")}, {}}));
  EXPECT_FALSE(is_refused(at("new"), {{at("input")}, {}}));
}

TEST_F(OutputFiles, an_input_that_is_reached_through_a_link_is_one_as_well) {
  fs::create_symlink("input", at("link"));
  EXPECT_TRUE(is_refused(at("input"), {{at("link")}, {}}));
}

TEST_F(OutputFiles, devices_lose_nothing) {
  EXPECT_FALSE(is_refused("/dev/null", {{"/dev/null"}, {}}));
  EXPECT_TRUE(check_names({{"--a", "/dev/null"}, {"--b", "/dev/null"}}, {}));
}

TEST_F(OutputFiles, two_outputs_are_two_files) {
  fs::create_directory_symlink(".", at("same"));
  fs::create_symlink("other", at("link"));
  for (const auto& [one, two] :
       {std::pair{"new", "./new"}, {"new", "same/new"}, {"other", "link"}}) {
    EXPECT_FALSE(check_names({{"--a", at(one)}, {"--b", at(two)}}, {})) << one << two;
  }
  EXPECT_TRUE(check_names({{"--a", at("new")}, {"--b", at("newer")}}, {}));
  EXPECT_TRUE(check_names({{"--a", ""}, {"--b", ""}}, {}));
}

TEST_F(OutputFiles, what_a_folder_holds_and_would_hold_is_an_input) {
  fs::create_directories(at("data/deep"));
  write("data/deep/a.txt");
  write("outside.log");
  fs::create_symlink("../outside.log", at("data/b.txt"));
  fs::create_directory_symlink("data/deep", at("there"));
  const InputFiles inputs{{}, {{at("data"), {".txt", ".md"}}}};
  EXPECT_TRUE(is_refused(at("data/deep/a.txt"), inputs));
  EXPECT_TRUE(is_refused(at("there/new.md"), inputs));
  EXPECT_TRUE(is_refused(at("outside.log"), inputs)) << "by its link in the folder";
  EXPECT_FALSE(is_refused(at("data/page.html"), inputs));
  EXPECT_FALSE(is_refused(at("a.txt"), inputs));
}

TEST_F(OutputFiles, a_place_is_a_file_in_a_folder_that_is_there) {
  EXPECT_TRUE(check_places({{"--report", at("new")}, {"--html", ""}, {"--trace", "/dev/null"}}));
  const Status none = check_places({{"--report", at("none/new")}});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("there is no folder"));
  EXPECT_FALSE(check_places({{"--report", folder_.path()}}));
}

// Only root can make a link of another user's.
TEST_F(OutputFiles, a_strangers_link_is_not_followed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  constexpr uid_t stranger = 4711;
  fs::create_symlink("other", at("trap"));
  ASSERT_EQ(::lchown(at("trap").c_str(), stranger, stranger), 0);
  const Status placed = check_places({{"--report", at("trap")}});
  ASSERT_FALSE(placed);
  EXPECT_EQ(placed.error().code, Errc::no_permission);
  EXPECT_THAT(placed.error().message, HasSubstr("link of another user"));
  EXPECT_FALSE(write_file_atomic(at("trap"), "through the link"));
  EXPECT_EQ(*read_file(at("other")), "other");

  fs::create_directory_symlink(".", at("way"));
  ASSERT_EQ(::lchown(at("way").c_str(), stranger, stranger), 0);
  EXPECT_FALSE(write_file_atomic(at("way/other"), "by a stranger's way"));
  EXPECT_EQ(*read_file(at("other")), "other");
}

TEST_F(OutputFiles, a_strangers_file_is_replaced_without_its_permissions) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_EQ(::chown(at("other").c_str(), 4711, 4711), 0);
  ASSERT_EQ(::chmod(at("other").c_str(), 04777), 0);
  ASSERT_TRUE(write_file_atomic(at("other"), "ours"));
  struct stat status {};
  ASSERT_EQ(::stat(at("other").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 0U);
  EXPECT_EQ(status.st_mode & 07022U, 0U);
}

}  // namespace
}  // namespace headroom::machine
