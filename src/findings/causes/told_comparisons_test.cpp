// SPDX-License-Identifier: Apache-2.0
// What people compare: other cards, one GPU and several, builds that are called good and bad, and
// the only thing that was changed.
#include <gmock/gmock.h>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using testing::diagnose;
using ::testing::HasSubstr;

const std::string fault =
    ":0:rocdevice.cpp :2672: 0696142325 us: Device::callbackQueue aborting with error : "
    "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: The agent attempted to access memory beyond the "
    "largest legal address. code: 0x29\n";

TEST(OtherCards, of_the_same_chip_that_work_leave_the_card_itself) {
  constexpr std::string_view card = R"({"vendor": "AMD", "gpu": "RX 6900 XT", "gfx": "gfx1030"})";
  const auto found = diagnose(
      fault + "The same program works fine on an RX 6800 in the same machine, as it should.\n",
      card);
  EXPECT_EQ(found.cause.id, "hw-error");
  EXPECT_THAT(found.cause.title, HasSubstr("gfx1030"));
  EXPECT_EQ(diagnose(fault + "The same program works fine on an RX 7900 XTX, as it should.\n", card)
                .cause.id,
            "gpu-hang");
  EXPECT_EQ(
      diagnose(fault + "It mostly works fine on the RX 6900 XT, and then it does not.\n", card)
          .cause.id,
      "gpu-hang");
}

TEST(OneGpu, that_works_where_several_do_not_points_between_them) {
  const std::string wrong = "I get wrong replies when I use both cards at once.\n";
  constexpr std::string_view cards = R"({"vendor": "AMD", "gpu": "2x RX 7900 XTX"})";
  EXPECT_EQ(diagnose(wrong + "The model is fine with a single GPU.\n", cards).cause.id, "rccl-p2p");
  EXPECT_NE(diagnose(wrong, cards).cause.id, "rccl-p2p");
}

TEST(Labels, of_two_builds_tell_which_one_broke_it) {
  const auto log = [](std::string_view what) {
    return "The amount of memory that is reported is wrong since this week, and a model fails to "
           "load.\n- **Good:** " +
           std::string(what) + " `main` of May 3 (build 801)\n- **Bad:** " + std::string(what) +
           " `main` of May 9 (build 877)\n";
  };
  constexpr std::string_view apu = R"({"vendor": "AMD", "gfx": "gfx1151"})";
  EXPECT_EQ(diagnose(log("TheRock"), apu).cause.id, "rocm-regression");
  EXPECT_NE(diagnose(log("my fork"), apu).cause.id, "rocm-regression");
}

TEST(Unchanged, what_is_the_same_as_before_is_not_what_it_is_about) {
  constexpr std::string_view apu = R"({"vendor": "AMD", "gfx": "gfx1151"})";
  const std::string story = "It crashes since the update of last week, and it was stable before.\n";
  EXPECT_EQ(diagnose(story + "I suspect the firmware, as it is new.\n", apu).cause.id,
            "firmware-bad");
  EXPECT_NE(diagnose(story + "Both runs are on the same kernel/firmware/BIOS.\n", apu).cause.id,
            "firmware-bad");
  EXPECT_NE(diagnose(story + "The kernel and firmware are unchanged.\n", apu).cause.id,
            "firmware-bad");
}

TEST(OnlyChange, since_the_job_ran_is_what_broke_it) {
  const std::string oom =
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 91.00 GiB. GPU 0 has a total "
      "capacity of 15.92 GiB of which 7.28 GiB is free.\n";
  constexpr std::string_view card = R"({"vendor": "AMD", "gfx": "gfx1201"})";
  const auto found = diagnose(
      oom + "The same job ran until last week. The only change was the driver 26.1.1.\n", card);
  EXPECT_EQ(found.cause.id, "rocm-regression");
  EXPECT_GT(confidence_of(found, "job-too-big"), 0);
  EXPECT_EQ(diagnose(oom + "The only difference to the other job is the driver.\n", card).cause.id,
            "job-too-big");
}

}  // namespace
}  // namespace headroom::findings
