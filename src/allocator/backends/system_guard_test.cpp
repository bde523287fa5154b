// SPDX-License-Identifier: Apache-2.0
#include "allocator/backends/system_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "allocator/backends/device_backend.h"
#include "allocator/backends/testing/fake_driver.h"
#include "allocator/headroom/headroom_allocator.h"

namespace headroom::allocator {
namespace {

using ::testing::AllOf;
using testing::FakeDriver;
using ::testing::HasSubstr;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
constexpr const char* folder = "/sys/bus/pci/devices/0000:0b:00.0/";

// An APU whose GPU takes system memory.
class SystemGuardTest : public ::testing::Test {
 protected:
  SystemGuardTest() : root_(std::filesystem::temp_directory_path() / "headroom-guard-XXXXXX") {
    std::string name = root_.string();
    root_ = ::mkdtemp(name.data());
    write_memory(900);
    write_gtt(800, 0);
  }
  ~SystemGuardTest() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_.string() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void write_memory(std::uint64_t available_mib) {
    write("/proc/meminfo", "MemTotal:  1048576 kB\nMemAvailable:  " +
                               std::to_string(available_mib * 1024) + " kB\n");
  }
  void write_gtt(std::uint64_t total_mib, std::uint64_t used_mib) {
    write(std::string(folder) + "mem_info_gtt_total", std::to_string(total_mib * mib));
    write(std::string(folder) + "mem_info_gtt_used", std::to_string(used_mib * mib));
  }
  SystemGuard::Ask watch(const std::string& guards, const std::string& pci = "0000:0b:00.0") {
    return watch_pools(*facts::parse_guards(guards), pci, *machine::Files::open(root_.string()),
                       [this]() -> Result<MemoryInfo> { return driver_; });
  }

  std::filesystem::path root_;
  MemoryInfo driver_{300 * mib, 512 * mib, "hipMemGetInfo"};
};

TEST_F(SystemGuardTest, what_has_to_stay_is_refused_and_the_rest_is_not) {
  SystemGuard guard(watch("0000:0b:00.0/ram=209715200"), nullptr);
  EXPECT_TRUE(guard.take(700 * mib));
  EXPECT_EQ(guard.left(), 700 * mib);
  const auto refused = guard.take(701 * mib);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::out_of_memory);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("keeps 200.0 MiB of the system's memory"), HasSubstr("900.0 MiB of"),
                    HasSubstr("701.0 MiB more")));
  EXPECT_THAT(refused.error().next, HasSubstr("--guard off"));
}

TEST_F(SystemGuardTest, it_sees_what_others_take_and_give_back_meanwhile) {
  SystemGuard guard(watch("0000:0b:00.0/ram=209715200"), nullptr);
  write_memory(210);
  EXPECT_FALSE(guard.take(64 * mib));
  write_memory(900);
  EXPECT_TRUE(guard.take(64 * mib));
}

TEST_F(SystemGuardTest, of_several_pools_the_tightest_counts) {
  SystemGuard guard(watch("0000:0b:00.0/ram=104857600,0000:0b:00.0/gtt=104857600"), nullptr);
  EXPECT_TRUE(guard.take(700 * mib));
  write_gtt(800, 650);
  const auto refused = guard.take(64 * mib);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("the GTT of 0000:0b:00.0"));
}

TEST_F(SystemGuardTest, what_cannot_be_read_refuses_nothing) {
  SystemGuard guard(watch("0000:0b:00.0/vram=104857600"), nullptr);
  EXPECT_TRUE(guard.take(std::uint64_t{1} << 40U));
  write(std::string(folder) + "mem_info_vram_total", "-1");
  write(std::string(folder) + "mem_info_vram_used", "x");
  EXPECT_TRUE(guard.take(std::uint64_t{1} << 40U));
}

TEST_F(SystemGuardTest, a_guard_of_another_gpu_is_none) {
  EXPECT_FALSE(watch("0000:0b:00.0/ram=104857600", "0000:03:00.0"));
  EXPECT_FALSE(watch("off"));
}

TEST_F(SystemGuardTest, one_of_every_gpu_asks_the_driver) {
  SystemGuard guard(watch("100 MiB", "0000:03:00.0"), nullptr);
  EXPECT_TRUE(guard.take(200 * mib));
  EXPECT_FALSE(guard.take(201 * mib));
  // HIP reports impossible figures on some APUs (ROCm/hip#3892); these are ignored.
  driver_.free_bytes = 600 * mib;
  EXPECT_TRUE(guard.take(550 * mib));
}

// The allocator behind it: its out of memory names the guard, nothing live is lost, and it goes on
// once there is room.
TEST_F(SystemGuardTest, an_allocator_is_refused_and_goes_on_later) {
  SystemGuard guard(watch("0000:0b:00.0/ram=209715200"), nullptr);
  DeviceBackend backend(std::make_unique<FakeDriver>());
  HeadroomAllocator::Options options;
  options.budget = &guard;
  HeadroomAllocator allocator(backend, 512 * mib, options);
  const auto first = allocator.allocate({64 * mib});
  ASSERT_TRUE(first);
  write_memory(201);
  EXPECT_FALSE(allocator.allocate({64 * mib}));
  const std::string text = to_text(allocator.explain({64 * mib}));
  EXPECT_THAT(text, HasSubstr("no more of the device: headroom's guard keeps 200.0 MiB"));
  EXPECT_THAT(text, HasSubstr("headroom run --guard SIZE changes"));
  write_memory(900);
  EXPECT_TRUE(allocator.allocate({64 * mib}));
}

}  // namespace
}  // namespace headroom::allocator
