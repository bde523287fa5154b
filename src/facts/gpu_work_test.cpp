// SPDX-License-Identifier: Apache-2.0
#include "facts/gpu_work.h"

#include <gtest/gtest.h>

namespace headroom::facts {
namespace {

TEST(GpuWork, the_time_of_all_engines_is_added_up) {
  const auto work = parse_client_work(
      "pos:\t0\nflags:\t02100002\ndrm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\n"
      "drm-client-id:\t42\ndrm-engine-gfx:\t1000 ns\ndrm-engine-compute:\t500 ns\n"
      "drm-engine-capacity-compute:\t8\ndrm-memory-vram:\t1024 KiB\n");
  ASSERT_TRUE(work);
  EXPECT_EQ(work->pdev, "0000:03:00.0");
  EXPECT_EQ(work->client_id, 42U);
  EXPECT_EQ(work->engines_ns, 1500U);
}

TEST(GpuWork, a_layout_without_times_is_not_an_idle_client) {
  EXPECT_FALSE(parse_client_work("drm-pdev:\t0000:03:00.0\ndrm-client-id:\t42\ngfx0:\t5.00%\n"));
}

TEST(GpuWork, an_ordinary_file_is_no_client) {
  EXPECT_FALSE(parse_client_work("pos:\t0\nflags:\t0100000\nmnt_id:\t29\n"));
  EXPECT_FALSE(parse_client_work("drm-engine-gfx:\t1000 ns\n"));
}

}  // namespace
}  // namespace headroom::facts
