// SPDX-License-Identifier: Apache-2.0
#include "history/calibrations.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace headroom::history {
namespace {

namespace fs = std::filesystem;

class CalibrationsFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "headroom-calibrations-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ + "/state/headroom/calibration.json";
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& text) const {
    fs::create_directories(fs::path(path_).parent_path());
    std::ofstream(path_) << text;
  }
  std::string read() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static estimate::Calibration small() {
    estimate::Calibration calibration;
    calibration.key = {"a processor", "1.0", 2};
    calibration.time = "2026-01-01T00:00:00Z";
    return calibration;
  }

  std::string folder_, path_;
};

TEST_F(CalibrationsFile, none_is_no_mistake) {
  const auto read = read_calibrations(path_);
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->all().empty());
}

TEST_F(CalibrationsFile, what_was_kept_is_read_and_is_this_users_alone) {
  ASSERT_TRUE(keep_calibration(path_, small()));
  const auto read = read_calibrations(path_);
  ASSERT_TRUE(read);
  EXPECT_NE(read->find(small().key), nullptr);
  struct stat found {};
  ASSERT_EQ(::stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & (S_IWGRP | S_IWOTH), 0U);
}

TEST_F(CalibrationsFile, one_that_makes_no_sense_is_named_and_replaced) {
  write("{\"schema\": ");
  const auto read = read_calibrations(path_);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find(path_), std::string::npos);
  ASSERT_TRUE(keep_calibration(path_, small()));
  EXPECT_TRUE(read_calibrations(path_));
}

TEST_F(CalibrationsFile, whether_one_can_be_kept_is_known_beforehand) {
  EXPECT_TRUE(can_keep_calibrations(path_));
  EXPECT_FALSE(fs::exists(path_));
  write("{\"schema\": ");
  EXPECT_TRUE(can_keep_calibrations(path_));  // It is replaced.
  std::ofstream(folder_ + "/file") << "no folder";
  EXPECT_FALSE(can_keep_calibrations(folder_ + "/file/calibration.json"));
}

TEST_F(CalibrationsFile, one_of_a_newer_version_stays) {
  const std::string newer = "{\"schema\": \"headroom.calibration/2\"}";
  write(newer);
  EXPECT_EQ(read_calibrations(path_).error().next, "mv " + path_ + " " + path_ + ".old");
  EXPECT_FALSE(can_keep_calibrations(path_));
  EXPECT_FALSE(keep_calibration(path_, small()));
  EXPECT_EQ(read(), newer);
}

TEST_F(CalibrationsFile, one_that_others_can_write_is_not_believed) {
  ASSERT_TRUE(keep_calibration(path_, small()));
  ASSERT_EQ(::chmod(path_.c_str(), 0666), 0);
  const auto read = read_calibrations(path_);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().next, "chmod go-w " + path_);
  EXPECT_FALSE(keep_calibration(path_, small()));
}

TEST_F(CalibrationsFile, one_of_another_user_is_not_believed) {
  ASSERT_TRUE(keep_calibration(path_, small()));
  constexpr uid_t nobody = 65534;
  if (::chown(path_.c_str(), nobody, nobody) != 0) GTEST_SKIP() << "only root can give a file away";
  EXPECT_FALSE(read_calibrations(path_));
  EXPECT_FALSE(keep_calibration(path_, small()));
}

TEST_F(CalibrationsFile, a_folder_in_its_place_is_said) {
  fs::create_directories(path_);
  EXPECT_EQ(read_calibrations(path_).error().next, "mv " + path_ + " " + path_ + ".old");
  EXPECT_FALSE(can_keep_calibrations(path_));
  EXPECT_FALSE(keep_calibration(path_, small()));
}

}  // namespace
}  // namespace headroom::history
