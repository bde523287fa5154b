// SPDX-License-Identifier: Apache-2.0
// Whether a service uses a GPU, by the files of a folder that mirrors a machine.
#include "service/gpu_look.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "machine/temporary_folder.h"

namespace headroom::service {
namespace {

class GpuLooks : public testing::Test {
 protected:
  GpuLooks() : folder_(*machine::TemporaryFolder::make()) { write("proc/version", "Linux\n"); }
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path(folder_.path() + "/" + name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  deploy::GpuUse look(bool in_container = false) const {
    const auto files = machine::Files::open(folder_.path());
    EXPECT_TRUE(files);
    GpuLook look(*files, in_container);
    look.look({4711});
    return look.use();
  }

  machine::TemporaryFolder folder_;
};

TEST_F(GpuLooks, a_process_that_kfd_lists_with_memory_uses_it) {
  write("sys/class/kfd/kfd/proc/4711/vram_5001", "629145600\n");
  write("sys/class/kfd/kfd/proc/4711/sdma_5001", "250000\n");
  const deploy::GpuUse use = look();
  EXPECT_EQ(use.on_kfd, true);
  EXPECT_EQ(use.vram, Bytes{629145600});
  EXPECT_EQ(use.busy_ms, 250U);
  EXPECT_TRUE(deploy::is_used(use));
}

TEST_F(GpuLooks, somebody_elses_process_is_not_the_services) {
  write("sys/class/kfd/kfd/proc/9999/vram_5001", "629145600\n");
  const deploy::GpuUse use = look();
  EXPECT_EQ(use.on_kfd, false);
  EXPECT_FALSE(deploy::is_used(use));
}

TEST_F(GpuLooks, no_compute_driver_is_no_use_of_it) {
  EXPECT_EQ(look().on_kfd, false);
}

// KFD's numbers are the host's there, so that none of them being ours proves nothing.
TEST_F(GpuLooks, in_a_container_a_process_that_is_not_listed_is_not_known) {
  write("sys/class/kfd/kfd/proc/9999/vram_5001", "629145600\n");
  const deploy::GpuUse use = look(true);
  EXPECT_FALSE(use.on_kfd.has_value());
  EXPECT_FALSE(use.missing.empty());
}

TEST_F(GpuLooks, a_client_counts_once_through_all_its_descriptors) {
  const std::string client =
      "drm-driver:\tamdgpu\ndrm-client-id:\t7\ndrm-pdev:\t0000:03:00.0\n"
      "drm-memory-vram:\t1024 KiB\ndrm-memory-gtt: \t2048 KiB\ndrm-engine-compute:\t5000000 ns\n";
  write("proc/4711/fdinfo/3", client);
  write("proc/4711/fdinfo/4", client);
  const deploy::GpuUse use = look();
  EXPECT_EQ(use.vram, Bytes{1 << 20});
  EXPECT_EQ(use.gtt, Bytes{2 << 20});
  EXPECT_EQ(use.busy_ms, 5U);
}

}  // namespace
}  // namespace headroom::service
