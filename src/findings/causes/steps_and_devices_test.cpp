// SPDX-License-Identifier: Apache-2.0
// Figures that a job prints at its steps, which device it takes, and how the device is connected.
// Each has a neighbour with the same words in another role.
#include <gmock/gmock.h>

#include <string>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using testing::diagnose;
using ::testing::HasSubstr;

constexpr std::string_view amd = R"({"vendor": "AMD"})";

// ------------------------------------------------------------------ none

std::string steps(std::initializer_list<std::string_view> reserved) {
  std::string text = "OOM errors on a small model, is this expected?\n";
  for (const std::string_view one : reserved) {
    text += "Step\nAllocated: 3.1\nReserved: " + std::string(one) + "\n";
  }
  return text;
}

TEST(MemoryAtSteps, that_stays_the_same_is_no_failure) {
  EXPECT_EQ(diagnose(steps({"9.5", "9.5", "9.5", "9.5", "9.5"}), amd).cause.id, "none");
}

TEST(MemoryAtSteps, that_grows_or_runs_out_is_not_cleared) {
  const auto grown = diagnose(steps({"9.5", "10.5", "12.0", "14.5", "17.0"}), amd);
  EXPECT_NE(grown.cause.id, "none");
  const auto full =
      diagnose(steps({"9.5", "9.5", "9.5", "9.5"}) +
                   "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 8.00 GiB. GPU 0 "
                   "has a total capacity of 15.98 GiB of which 1.00 GiB is free. Of the allocated "
                   "memory 14.00 GiB is allocated by PyTorch, and 0.50 GiB is reserved by PyTorch "
                   "but unallocated.\n",
               amd);
  EXPECT_EQ(full.cause.id, "job-too-big");
}

// ------------------------------------------------------------------ app-bug

std::string timed(std::initializer_list<std::pair<int, std::string_view>> rows) {
  std::string text;
  for (const auto& [size, time] : rows) {
    const std::string side = std::to_string(size);
    text += "matrix " + side + "x" + side + ": " + std::string(time) + " ms\n";
  }
  return text;
}

const std::string measured =
    timed({{512, "0.3"}, {1024, "1.1"}, {2048, "7.9"}, {4096, "60.2"}, {8192, "480.0"}});

TEST(Times, that_do_not_grow_with_the_work_are_of_the_launch) {
  const auto found = diagnose(
      "Why is the second card faster?\ntorch.cuda.synchronize()\n" + measured +
          timed({{512, "0.03"}, {1024, "0.03"}, {2048, "0.03"}, {4096, "0.04"}, {8192, "0.03"}}),
      amd);
  EXPECT_EQ(found.cause.id, "app-bug");
  EXPECT_LE(found.cause.confidence, 0.8);
}

TEST(Times, of_small_products_or_that_grow_are_not) {
  EXPECT_NE(diagnose("Why is it slow?\n" + measured, amd).cause.id, "app-bug");
  const auto small =
      diagnose("Why is it slow?\n" +
                   timed({{16, "0.02"}, {32, "0.02"}, {64, "0.02"}, {128, "0.02"}, {256, "0.02"}}),
               amd);
  EXPECT_NE(small.cause.id, "app-bug");
}

// ------------------------------------------------------------------ pcie-atomics

constexpr std::string_view illegal_state =
    "RuntimeError: HIP error: the operation cannot be performed in the present state\n";

TEST(IllegalState, of_a_gpu_outside_the_machine_is_about_atomics) {
  const auto found =
      diagnose("Printing a float tensor fails, integers work.\n" + std::string(illegal_state) +
                   "The card is in a box with Thunderbolt.\n",
               amd);
  EXPECT_EQ(found.cause.id, "pcie-atomics");
  EXPECT_LE(found.cause.confidence, 0.8);
}

TEST(IllegalState, alone_is_not_sure) {
  EXPECT_LE(diagnose(illegal_state, amd).cause.confidence, 0.6);
}

// ------------------------------------------------------------------ gpu-unsupported

constexpr std::string_view stuck =
    "Under WSL2 it gets stuck at the first line below and never returns.\n"
    "model.to(\"cuda\")\n";

TEST(FirstCopyInWsl, of_a_gpu_that_wsl_does_not_serve_never_ends) {
  EXPECT_EQ(diagnose(stuck, R"({"vendor": "AMD", "gpu": "RX 6900 XT", "gfx": "gfx1030"})").cause.id,
            "gpu-unsupported");
}

TEST(FirstCopyInWsl, of_one_that_it_serves_has_another_reason) {
  EXPECT_NE(
      diagnose(stuck, R"({"vendor": "AMD", "gpu": "RX 7900 XTX", "gfx": "gfx1100"})").cause.id,
      "gpu-unsupported");
}

// ------------------------------------------------------------------ device-index

constexpr std::string_view no_device =
    "I set HIP_VISIBLE_DEVICES=1` in the system's settings.\n"
    "hipGetDeviceCount: Returned hipErrorNoDevice\n";

TEST(Mask, that_begins_behind_the_only_gpu_hides_it) {
  EXPECT_EQ(diagnose(no_device, R"({"vendor": "AMD", "gpu": "RX 7700 XT"})").cause.id,
            "device-index");
}

TEST(Mask, that_leaves_one_of_several_is_not_the_reason) {
  const auto found = diagnose(no_device, R"({"vendor": "AMD", "gpu": "RX 7700 XT + RX 6600"})");
  EXPECT_NE(found.cause.id, "device-index");
}

// ------------------------------------------------------------------ igpu-selected

constexpr std::string_view two_gpus =
    R"({"vendor": "AMD", "gpu": "RX 7900 XT", "gfx": "gfx1100", "cpu": "Ryzen 7 9700X"})";

TEST(FirstDevice, that_is_the_integrated_gpu_is_told) {
  const auto found =
      diagnose("It does not use my card.\ndevice name [0]: AMD Radeon(TM) Graphics\n", two_gpus);
  EXPECT_EQ(found.cause.id, "igpu-selected");
}

TEST(FirstDevice, that_is_the_card_is_as_it_should_be) {
  const auto found = diagnose(
      "It does not use my card.\ndevice name [0]: AMD Radeon RX 7900 XT\n"
      "device name [1]: AMD Radeon(TM) Graphics\n",
      two_gpus);
  EXPECT_NE(found.cause.id, "igpu-selected");
}

constexpr std::string_view spread =
    "model = AutoModelForCausalLM.from_pretrained(name, device_map=\"auto\")\n"
    "RuntimeError: HIP error: invalid device function\n";

TEST(Spread, over_a_gpu_without_kernels_fails_there) {
  EXPECT_EQ(diagnose(spread, two_gpus).cause.id, "igpu-selected");
}

TEST(Spread, over_the_card_alone_has_another_reason) {
  const auto found = diagnose(
      spread,
      R"({"vendor": "AMD", "gpu": "RX 7900 XT", "gfx": "gfx1100", "cpu": "Ryzen 7 5800X"})");
  EXPECT_NE(found.cause.id, "igpu-selected");
}

// ------------------------------------------------------------------ rocm-regression

TEST(Releases, in_an_address_are_no_releases_that_ran) {
  const auto found = diagnose(
      "I followed https://example.org/rocm/docs-6.2/guide_3.1.html and it fails at the first "
      "cell.\nRuntimeError: HIP error: invalid device function\n",
      amd);
  EXPECT_NE(found.cause.id, "rocm-regression");
}

TEST(Releases, of_windows_that_take_shared_memory_may_be_the_reason) {
  const auto found = diagnose(
      "The model is put into shared GPU memory instead of the dedicated one, which is empty. It "
      "is very slow.\n",
      R"({"vendor": "AMD", "gpu": "RX 7900 XTX", "gfx": "gfx1100", "distro": "Windows 11"})");
  EXPECT_EQ(found.cause.id, "rocm-regression");
  EXPECT_LE(found.cause.confidence, 0.65);
}

// ------------------------------------------------------------------ framework-bug

TEST(Numbers, that_are_right_on_another_makers_gpu_are_the_frameworks) {
  const auto found = diagnose(
      "Training fails with NaN values after some hundred steps, whatever the precision.\n"
      "On NVIDIA the same model reaches the accuracy that it should.\n",
      amd);
  EXPECT_EQ(found.cause.id, "framework-bug");
  EXPECT_LE(found.cause.confidence, 0.6);
}

}  // namespace
}  // namespace headroom::findings
