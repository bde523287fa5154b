// SPDX-License-Identifier: Apache-2.0
#include "probe/read_gpu_sensors.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "machine/temporary_folder.h"

namespace headroom::probe {
namespace {

namespace fs = std::filesystem;

class ReadGpuSensors : public testing::Test {
 protected:
  ReadGpuSensors() {
    write("proc/version", "Linux\n");
    gpu_.folder = "/sys/devices/card";
    write("sys/devices/card/gpu_busy_percent", "97\n");
    write("sys/devices/card/hwmon/hwmon0/name", "nic\n");
    write("sys/devices/card/hwmon/hwmon0/temp1_input", "99000\n");
    write("sys/devices/card/hwmon/hwmon3/name", "amdgpu\n");
    write("sys/devices/card/hwmon/hwmon3/temp1_input", "61000\n");
    write("sys/devices/card/hwmon/hwmon3/power1_input", "213000000\n");
    write("sys/devices/card/hwmon/hwmon3/freq1_input", "broken\n");
  }
  void write(const std::string& path, const std::string& text) {
    const fs::path place = fs::path(folder_->path()) / path;
    fs::create_directories(place.parent_path());
    std::ofstream(place, std::ios::binary) << text;
  }
  facts::GpuSensors read() {
    return read_gpu_sensors(*machine::Files::open(folder_->path()), gpu_);
  }

  Result<machine::TemporaryFolder> folder_ = machine::TemporaryFolder::make();
  facts::PciGpu gpu_;
};

TEST_F(ReadGpuSensors, takes_amdgpus_own_sensors) {
  const auto sensors = read();
  EXPECT_EQ(sensors.busy_percent.optional(), 97U);
  EXPECT_EQ(sensors.edge_millicelsius.optional(), 61000U);
}

TEST_F(ReadGpuSensors, power_has_one_of_two_names) {
  EXPECT_EQ(read().power_microwatts.optional(), 213000000U);
  write("sys/devices/card/hwmon/hwmon3/power1_average", "200000000\n");
  EXPECT_EQ(read().power_microwatts.optional(), 200000000U);
}

TEST_F(ReadGpuSensors, what_makes_no_sense_is_missing_with_its_reason) {
  const auto sensors = read();
  ASSERT_FALSE(sensors.core_hertz);
  EXPECT_EQ(sensors.core_hertz.missing().why, facts::Why::not_understood);
  ASSERT_FALSE(sensors.junction_millicelsius);
  EXPECT_EQ(sensors.junction_millicelsius.missing().why, facts::Why::not_present);
}

TEST_F(ReadGpuSensors, a_sleeping_gpu_is_not_read) {
  gpu_.runtime_status = {"suspended",
                         facts::Source{"/sys/devices/card/power/runtime_status", 1, ""}};
  const auto sensors = read();
  ASSERT_FALSE(sensors.busy_percent);
  EXPECT_EQ(sensors.busy_percent.missing().why, facts::Why::asleep);
  EXPECT_EQ(sensors.edge_millicelsius.missing().why, facts::Why::asleep);
}

}  // namespace
}  // namespace headroom::probe
