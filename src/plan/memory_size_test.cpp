// SPDX-License-Identifier: Apache-2.0
#include "plan/memory_size.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "findings/memory_use.h"

namespace headroom::plan {
namespace {

using ::testing::HasSubstr;

// MemTotal of a Strix Halo with 128 GiB and a carve-out of 512 MiB.
constexpr Bytes strix_halo{131151392 * std::uint64_t{1024}};

Result<SizeChoice> choose(const std::string& size, Bytes ram = strix_halo,
                          std::optional<Bytes> reserve = std::nullopt) {
  return choose_size({"headroom fix ttm-cap", size, reserve, ram});
}

TEST(MemorySize, pages_are_bytes_by_4096) {
  EXPECT_EQ(to_pages(120_GiB), 31457280U);
}

TEST(MemorySize, auto_keeps_8_gib_of_a_large_machine_and_4_of_a_small_one) {
  EXPECT_EQ(choose("auto")->size, 117_GiB);
  EXPECT_EQ(choose("")->size, 117_GiB);
  EXPECT_EQ(choose("auto", 31_GiB)->size, 23_GiB);  // A quarter: 7.75 GiB.
  EXPECT_EQ(choose("auto", 15_GiB)->size, 11_GiB);  // A quarter would be less than 4 GiB.
}

TEST(MemorySize, auto_is_what_check_advises) {
  for (std::uint64_t gib = 9; gib < 256; ++gib) {
    const Bytes ram{gib << 30U};
    EXPECT_EQ(choose("auto", ram)->size, std::max(findings::advised_gpu_limit(ram), Bytes{}))
        << gib;
  }
}

TEST(MemorySize, max_keeps_4_gib) {
  EXPECT_EQ(choose("max")->size, 121_GiB);
}

TEST(MemorySize, max_is_not_more_than_the_compute_driver_passes_on) {
  // 512 GiB - 512 GiB/64 - 1.5 GiB = 502.5 GiB.
  EXPECT_EQ(choose("max", 512_GiB)->size, 502_GiB);
}

TEST(MemorySize, a_reserve_counts_for_auto_and_max) {
  EXPECT_EQ(choose("auto", strix_halo, 16_GiB)->size, 109_GiB);
  EXPECT_EQ(choose("max", strix_halo, 16_GiB)->size, 109_GiB);
}

TEST(MemorySize, a_size_wins_over_a_reserve_and_says_so) {
  const auto choice = choose("120GiB", strix_halo, 16_GiB);
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->size, 120_GiB);
  ASSERT_EQ(choice->notes.size(), 1U);
  EXPECT_THAT(choice->notes[0], HasSubstr("--size overrides --reserve"));
}

TEST(MemorySize, below_8_gib_left_it_warns_with_the_figure) {
  const auto tight = choose("120GiB");
  ASSERT_TRUE(tight.has_value());
  ASSERT_EQ(tight->warnings.size(), 1U);
  EXPECT_THAT(tight->warnings[0], HasSubstr("The system has 5.08 GiB of RAM left"));
  EXPECT_TRUE(choose("117GiB")->warnings.empty());
}

TEST(MemorySize, below_4_gib_left_it_is_refused_with_the_largest) {
  const auto refused = choose("122GiB");
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("would leave 3.08 GiB"));
  EXPECT_THAT(refused.error().message, HasSubstr("largest size here is 121.07 GiB"));
  EXPECT_EQ(refused.error().next, "headroom fix ttm-cap --size 121.07GiB");
  EXPECT_TRUE(choose("121.07GiB").has_value());
}

// Of many sizes of RAM: what the refusal names is accepted as it stands, and a hundredth more is
// not.
TEST(MemorySize, the_largest_size_that_is_said_is_the_largest_that_is_accepted) {
  for (std::uint64_t kib = (5_GiB).value / 1024; kib < (200_GiB).value / 1024; kib += 1234567) {
    const Bytes ram{kib * 1024};
    const auto refused = choose(std::to_string(ram.value), ram);
    ASSERT_FALSE(refused.has_value()) << kib;
    const std::string& next = refused.error().next;
    const std::string size = next.substr(next.rfind(' ') + 1);
    EXPECT_THAT(refused.error().message, HasSubstr(size.substr(0, size.size() - 3))) << kib;
    EXPECT_TRUE(choose(size, ram).has_value()) << kib << ": " << size;
    const double more = std::stod(size) + 0.01;
    EXPECT_FALSE(choose(fmt::format("{:.2f}GiB", more), ram).has_value()) << kib << ": " << size;
  }
}

TEST(MemorySize, exactly_4_gib_left_is_the_edge) {
  EXPECT_TRUE(choose("28GiB", 32_GiB).has_value());
  EXPECT_FALSE(choose(std::to_string((28_GiB).value + 4096), 32_GiB).has_value());
}

TEST(MemorySize, above_the_ram_is_refused) {
  const auto refused = choose("128GiB");
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("more than the 125.08 GiB of RAM"));
}

TEST(MemorySize, pages_that_are_too_many_are_not_offered_as_bytes) {
  const auto refused = choose("31457280", 123_GiB);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().next, "headroom fix ttm-cap --size 119GiB");
  EXPECT_THAT(refused.error().message, HasSubstr("120.00 GiB of the 123.00 GiB of RAM"));
}

TEST(MemorySize, pages_that_were_meant_are_named) {
  const auto refused = choose("31457280");
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("which would be 120.00 GiB in pages"));
  EXPECT_EQ(refused.error().next, "headroom fix ttm-cap --size 122880MiB");
}

TEST(MemorySize, nonsense_is_refused_with_an_example) {
  for (const char* size : {"lots", "-1", "1MiB", "0", "120GiBs", "99999999999999999999GiB"}) {
    const auto refused = choose(size);
    ASSERT_FALSE(refused.has_value()) << size;
    EXPECT_FALSE(refused.error().next.empty()) << size;
  }
}

TEST(MemorySize, a_small_machine_keeps_the_kernels_half) {
  const auto refused = choose("auto", 7_GiB);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::unsupported);
  EXPECT_FALSE(choose("max", 3_GiB).has_value());
  EXPECT_FALSE(choose("2GiB", 3_GiB).has_value());
}

TEST(MemorySize, a_reserve_below_4_gib_or_above_the_ram_is_refused) {
  EXPECT_FALSE(choose("auto", strix_halo, 2_GiB).has_value());
  EXPECT_FALSE(choose("auto", strix_halo, 500_GiB).has_value());
}

}  // namespace
}  // namespace headroom::plan
