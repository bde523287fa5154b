// SPDX-License-Identifier: Apache-2.0
#include "machine/log_tail.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "machine/libarchive.h"

namespace headroom::machine {
namespace {

namespace fs = std::filesystem;

class LogTail : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "headroom-log-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }
  Result<std::string> tail_of(const std::string& bytes, std::size_t most) {
    std::ofstream(root_ / "log", std::ios::binary) << bytes;
    return read_log_tail(*Files::open(root_.string()), "/log", most);
  }
  fs::path root_;
};

// "first\nsecond\nthird\n", by gzip -n.
std::string packed() {
  static constexpr unsigned char bytes[] = {
      0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x4b, 0xcb, 0x2c,
      0x2a, 0x2e, 0xe1, 0x2a, 0x4e, 0x4d, 0xce, 0xcf, 0x4b, 0xe1, 0x2a, 0xc9, 0xc8,
      0x2c, 0x4a, 0xe1, 0x02, 0x00, 0x08, 0x8b, 0x2a, 0xd8, 0x13, 0x00, 0x00, 0x00};
  return {bytes, bytes + sizeof(bytes)};
}

TEST_F(LogTail, a_log_that_is_not_packed_is_read_as_it_stands) {
  EXPECT_EQ(*tail_of("first\nsecond\nthird\n", 13), "second\nthird\n");
  EXPECT_EQ(*tail_of("", 13), "");
}

TEST_F(LogTail, a_packed_log_has_the_same_tail) {
  if (!Libarchive::load()) GTEST_SKIP() << "libarchive is not installed";
  EXPECT_EQ(*tail_of(packed(), 100), "first\nsecond\nthird\n");
  EXPECT_EQ(*tail_of(packed(), 19), "first\nsecond\nthird\n");
  EXPECT_EQ(*tail_of(packed(), 13), "second\nthird\n");
  EXPECT_EQ(*tail_of(packed(), 12), "third\n");
  EXPECT_EQ(*tail_of(packed(), 3), "");
}

TEST_F(LogTail, a_packed_log_that_is_damaged_is_an_error) {
  const std::string whole = packed();
  for (std::size_t length = 4; length < whole.size(); ++length) {
    EXPECT_FALSE(tail_of(whole.substr(0, length), 100)) << length;
  }
}

}  // namespace
}  // namespace headroom::machine
