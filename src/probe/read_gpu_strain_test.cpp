// SPDX-License-Identifier: Apache-2.0
#include "probe/read_gpu_strain.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "machine/temporary_folder.h"

namespace headroom::probe {
namespace {

namespace fs = std::filesystem;

class ReadGpuStrain : public testing::Test {
 protected:
  ReadGpuStrain() {
    write("proc/version", "Linux\n");
    gpu_.folder = "/sys/devices/card";
    gpu_.render_minor = {128, facts::Source{"test", 1, ""}};
    write("sys/devices/card/hwmon/hwmon3/name", "amdgpu\n");
    write("sys/devices/card/hwmon/hwmon3/temp2_input", "88000\n");
    write("sys/devices/card/hwmon/hwmon3/temp2_crit", "110000\n");
    write("sys/devices/card/ras/umc_err_count", "ue: 0\nce: 4\n");
    write("sys/devices/card/ras/gfx_err_count", "ue: 1\nce: 0\n");
    write("sys/devices/card/ras/features", "feature mask: 0x3\n");
    write("sys/devices/card/aer_dev_fatal", "DLP 0\nTOTAL_ERR_FATAL 0\n");
    write(".headroom/amdgpu_info/renderD128", "ids_flags 0\nvram_lost 3\n");
  }
  void write(const std::string& path, const std::string& text) {
    const fs::path place = fs::path(folder_->path()) / path;
    fs::create_directories(place.parent_path());
    std::ofstream(place, std::ios::binary) << text;
  }
  machine::Files files() { return *machine::Files::open(folder_->path()); }

  Result<machine::TemporaryFolder> folder_ = machine::TemporaryFolder::make();
  facts::PciGpu gpu_;
};

TEST_F(ReadGpuStrain, limits_stand_beside_what_is_measured) {
  const auto strain = read_gpu_strain(files(), gpu_);
  EXPECT_EQ(strain.sensors.junction_millicelsius.optional(), 88000U);
  EXPECT_EQ(strain.junction_limit.optional(), 110000U);
  EXPECT_EQ(strain.edge_limit.missing().why, facts::Why::not_present);
  EXPECT_EQ(strain.throttling.missing().why, facts::Why::not_present);
}

TEST_F(ReadGpuStrain, sleeping_gpu_is_not_read) {
  gpu_.power_state = {"D3cold", facts::Source{"test", 1, ""}};
  const auto strain = read_gpu_strain(files(), gpu_);
  EXPECT_EQ(strain.junction_limit.missing().why, facts::Why::asleep);
  EXPECT_EQ(strain.throttling.missing().why, facts::Why::asleep);
}

TEST_F(ReadGpuStrain, errors_are_counted_by_block_and_by_link) {
  const auto errors = read_gpu_errors(files(), gpu_);
  ASSERT_EQ(errors.ras.size(), 2U);
  EXPECT_EQ(errors.ras[0].block, "gfx");
  EXPECT_EQ(errors.ras[0].uncorrectable.optional(), 1U);
  EXPECT_EQ(errors.ras[1].correctable.optional(), 4U);
  EXPECT_EQ(errors.link_fatal.optional(), 0U);
  EXPECT_EQ(errors.link_corrected.missing().why, facts::Why::not_present);
  EXPECT_EQ(errors.resets.optional(), 3U);
}

TEST_F(ReadGpuStrain, card_without_counters_says_why) {
  fs::remove_all(fs::path(folder_->path()) / "sys/devices/card/ras");
  const auto errors = read_gpu_errors(files(), gpu_);
  EXPECT_TRUE(errors.ras.empty());
  EXPECT_EQ(errors.no_ras.why, facts::Why::not_present);
}

}  // namespace
}  // namespace headroom::probe
