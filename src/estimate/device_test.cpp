// SPDX-License-Identifier: Apache-2.0
#include "estimate/device.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/document.h"

namespace headroom::estimate {
namespace {

Job job_with(const std::string& device) {
  const auto document = parse_document("[model]\nconfig = \"x\"\n[device]\n" + device);
  return *parse_job(*document);
}

Device device_with(const std::string& keys) {
  auto device = find_device(job_with(keys));
  EXPECT_TRUE(device.has_value()) << device.error().message;
  return device ? *std::move(device) : Device{};
}

TEST(Device, capacity_that_one_card_shows_tells_its_vendor_and_says_so) {
  const Device device = device_with("capacity = \"79.15GiB\"\n");
  EXPECT_EQ(device.blas_workspace, 8320_KiB);
  EXPECT_EQ(device.context, 461_MiB);
  ASSERT_EQ(device.notes.size(), 1U);
  EXPECT_NE(device.notes[0].find("A100 80GB"), std::string::npos) << device.notes[0];
}

TEST(Device, capacity_that_tells_nothing_is_an_amd_gpu_with_the_best_kernels) {
  const Device device = device_with("capacity = \"16GiB\"\n");
  EXPECT_EQ(device.blas_workspace, 32_MiB);
  EXPECT_EQ(device.context, 378_MiB);
  EXPECT_EQ(device.attention, Attention::flash);
  EXPECT_TRUE(device.notes.empty());
}

TEST(Device, card_by_name_has_its_kernels_workspaces_and_half_type) {
  const Device mi50 = device_with("gpu = \"MI50\"\n");
  EXPECT_EQ(mi50.attention, Attention::math);
  EXPECT_EQ(mi50.half, DType::fp16);
  const Device h100 = device_with("gpu = \"H100 80GB\"\n");
  EXPECT_EQ(h100.blas_workspace, 32_MiB);
  EXPECT_EQ(h100.half, DType::bf16);
  EXPECT_GT(h100.rates.half_flops, mi50.rates.half_flops);
  EXPECT_EQ(device_with("gpu = \"T4\"\n").attention, Attention::efficient);
}

TEST(Device, bf16_on_a_card_without_its_arithmetic_is_noted) {
  const Device mi60 = device_with("gpu = \"MI60\"\n");
  ASSERT_EQ(mi60.notes.size(), 2U);
  EXPECT_NE(mi60.notes[1].find("--dtype fp16"), std::string::npos) << mi60.notes[1];
  EXPECT_TRUE(device_with("gpu = \"H100 80GB\"\n").notes.empty());
  EXPECT_EQ(device_with("gpu = \"MI60\"\n[compute]\ndtype = \"fp16\"\n").notes.size(), 1U);
}

TEST(Device, a_target_that_newer_pytorch_lacks_names_the_one_that_has_it) {
  const Device named = device_with("gpu = \"MI60\"\n[compute]\ndtype = \"fp16\"\n");
  ASSERT_EQ(named.notes.size(), 1U);
  EXPECT_NE(named.notes[0].find("torch==2.4.1+rocm6.0"), std::string::npos) << named.notes[0];
  const PresentGpu present{"Radeon Instinct MI50 32GB", "gfx906", "vram", 32_GiB, 0_B};
  const auto found = find_device(job_with("gpu = \"auto\"\n"), present);
  ASSERT_TRUE(found.has_value());
  EXPECT_NE(std::find(found->notes.begin(), found->notes.end(), named.notes[0]),
            found->notes.end());
  EXPECT_TRUE(device_with("gpu = \"RX 7900 XTX\"\n").notes.empty());
}

TEST(Device, context_and_capacity_that_are_given_count) {
  const Device device = device_with("gpu = \"MI50\"\ncapacity = \"20GiB\"\ncontext = \"1GiB\"\n");
  EXPECT_EQ(device.capacity, 20_GiB);
  EXPECT_EQ(device.context, 1_GiB);
}

TEST(Device, present_gpu_is_what_its_rung_leaves) {
  const PresentGpu gpu{"Strix Halo [Radeon 8060S]", "gfx1151", "ttm", 62_GiB, 2_GiB};
  const auto device = find_device(job_with("gpu = \"auto\"\n"), gpu);
  ASSERT_TRUE(device.has_value()) << device.error().message;
  EXPECT_EQ(device->capacity, 60_GiB);
  ASSERT_EQ(device->notes.size(), 1U);
  EXPECT_NE(device->notes[0].find("rung ttm"), std::string::npos) << device->notes[0];
  EXPECT_NE(device->notes[0].find("2.00 GiB"), std::string::npos) << device->notes[0];
}

TEST(Device, a_gpu_that_rocm_never_supported_is_said_to_be_none) {
  const PresentGpu gpu{"AMD Radeon Graphics (Cezanne)", "gfx90c", "ttm", 15_GiB, 0_B};
  const auto device = find_device(job_with("gpu = \"auto\"\n"), gpu);
  ASSERT_TRUE(device.has_value()) << device.error().message;
  ASSERT_GE(device->notes.size(), 2U);
  EXPECT_NE(device->notes[0].find("never supported"), std::string::npos) << device->notes[0];
  EXPECT_EQ(device->half, DType::fp16);
}

TEST(Device, a_name_that_two_cards_bear_says_which_was_taken) {
  const Device device = device_with("gpu = \"MI50\"\n[compute]\ndtype = \"fp16\"\n");
  ASSERT_EQ(device.notes.size(), 2U);
  EXPECT_NE(device.notes[1].find("--gpu \"Instinct MI50 16GB\""), std::string::npos);
}

TEST(Device, more_held_than_there_is_leaves_nothing) {
  const PresentGpu gpu{"RX 7900 XT", "gfx1100", "vram", 20_GiB, 21_GiB};
  EXPECT_EQ(find_device(job_with("gpu = \"auto\"\n"), gpu)->capacity, 0_B);
}

TEST(Device, kernels_of_plain_operations_run_everywhere) {
  const Device mi50 = device_with("gpu = \"MI50\"\n");
  EXPECT_TRUE(has_kernel(mi50, Attention::eager));
  EXPECT_TRUE(has_kernel(mi50, Attention::math));
  EXPECT_FALSE(has_kernel(mi50, Attention::efficient));
  EXPECT_FALSE(has_kernel(device_with("gpu = \"T4\"\n"), Attention::flash));
}

}  // namespace
}  // namespace headroom::estimate
