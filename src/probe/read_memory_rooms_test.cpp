// SPDX-License-Identifier: Apache-2.0
#include "probe/read_memory_rooms.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace headroom::probe {
namespace {

using facts::MemoryRoom;

// A folder that stands for a machine.
class MemoryRooms : public testing::Test {
 protected:
  MemoryRooms() : root_(std::filesystem::temp_directory_path() / "headroom-rooms-XXXXXX") {
    std::string name = root_.string();
    root_ = ::mkdtemp(name.data());
  }
  ~MemoryRooms() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_.string() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::vector<MemoryRoom> read() {
    const auto files = machine::Files::open(root_.string());
    EXPECT_TRUE(files.has_value());
    return read_memory_rooms(*files);
  }

 private:
  std::filesystem::path root_;
};

TEST_F(MemoryRooms, nothing_that_can_be_read_is_nothing_known) {
  EXPECT_TRUE(read().empty());
}

TEST_F(MemoryRooms, every_group_above_counts_in_version_2) {
  write("/proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n");
  write("/proc/self/cgroup", "0::/a/b\n");
  write("/sys/fs/cgroup/a/memory.max", "536870912\n");
  write("/sys/fs/cgroup/a/memory.high", "max\n");
  write("/sys/fs/cgroup/a/memory.current", "104857600\n");
  write("/sys/fs/cgroup/a/memory.stat", "inactive_file 52428800\nactive_file 0\n");
  write("/sys/fs/cgroup/a/b/memory.max", "max\n");
  write("/sys/fs/cgroup/a/b/memory.high", "4294967296\n");
  write("/sys/fs/cgroup/a/b/memory.current", "0\n");
  const auto rooms = read();
  ASSERT_EQ(rooms.size(), 3U);
  EXPECT_EQ(rooms[0].left, 8_GiB);
  EXPECT_EQ(rooms[1].whose, "the control group /a/b");
  EXPECT_EQ(rooms[1].left, 4_GiB) << "memory.high";
  EXPECT_EQ(rooms[2].whose, "the control group /a");
  EXPECT_EQ(rooms[2].left, 462_MiB);
}

TEST_F(MemoryRooms, version_1_bounds_memory_and_memory_with_swap) {
  write("/proc/self/cgroup", "4:memory:/docker/abc\n0::/\n");
  const std::string base = "/sys/fs/cgroup/memory";  // All that a container sees of the tree.
  write(base + "/memory.limit_in_bytes", "1073741824\n");
  write(base + "/memory.usage_in_bytes", "104857600\n");
  write(base + "/memory.memsw.limit_in_bytes", "1073741824\n");
  write(base + "/memory.memsw.usage_in_bytes", "524288000\n");
  const auto rooms = read();
  ASSERT_EQ(rooms.size(), 2U);
  EXPECT_EQ(facts::tightest(rooms)->left, 524_MiB) << "of memory with swap";
}

TEST(MemoryRoomsHere, this_machine_says_something) {
  const auto files = machine::Files::open("/");
  ASSERT_TRUE(files.has_value());
  for (const MemoryRoom& room : read_memory_rooms(*files)) {
    EXPECT_LE(room.left, room.total) << room.whose;
    EXPECT_GT(room.total, 0_B);
  }
}

}  // namespace
}  // namespace headroom::probe
