// SPDX-License-Identifier: Apache-2.0
#include "facts/guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::facts {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <class T>
Fact<T> known(T value) {
  return {std::move(value), Source{"/file", 1, "text"}};
}

Gpu gpu_on(Route route) {
  Gpu gpu;
  gpu.pci = "0000:0b:00.0";
  gpu.ladder.route = known(route);
  return gpu;
}

Holder holder(Bytes vram, Bytes gtt, bool in_kfd) {
  Holder one;
  one.vram = vram;
  one.gtt = gtt;
  one.in_kfd = in_kfd;
  return one;
}

Meminfo memory_of(Bytes total) {
  Meminfo memory;
  memory.total = known(total);
  memory.available = known(10_GiB);
  return memory;
}

Screens make_screens() {
  Screens screens;
  screens.connected = {"HDMI-A-1"};
  return screens;
}
const Screens one_screen = make_screens();

TEST(Guard, a_card_that_nobody_looks_at_keeps_nothing) {
  const Screens none;
  EXPECT_THAT(make_guards(gpu_on(Route::vram), memory_of(32_GiB), nullptr, {}), IsEmpty());
  EXPECT_THAT(make_guards(gpu_on(Route::vram), memory_of(32_GiB), &none, {}), IsEmpty());
}

TEST(Guard, a_card_with_a_screen_keeps_half_of_what_draws_within_bounds) {
  Gpu gpu = gpu_on(Route::vram);
  const auto kept = [&] { return make_guards(gpu, memory_of(32_GiB), &one_screen, {}); };
  const auto vram = [&](Bytes bytes) {
    return ElementsAre(Guard{"0000:0b:00.0", GuardedPool::vram, bytes});
  };
  EXPECT_THAT(kept(), vram(256_MiB));
  // A job that computes is no desktop.
  gpu.holders = {holder(12_GiB, 1_GiB, true), holder(900_MiB, 100_MiB, false)};
  EXPECT_THAT(kept(), vram(500_MiB));
  gpu.holders.push_back(holder(3_GiB, {}, false));
  EXPECT_THAT(kept(), vram(1_GiB));
}

TEST(Guard, an_apu_keeps_memory_of_the_system_and_for_its_screen) {
  const Gpu gpu = gpu_on(Route::gtt);
  EXPECT_THAT(make_guards(gpu, memory_of(32_GiB), nullptr, {}),
              ElementsAre(Guard{"0000:0b:00.0", GuardedPool::ram, 1_GiB}));
  EXPECT_THAT(make_guards(gpu, memory_of(128_GiB), &one_screen, {}),
              ElementsAre(Guard{"0000:0b:00.0", GuardedPool::ram, 2_GiB + 256_MiB},
                          Guard{"0000:0b:00.0", GuardedPool::gtt, 256_MiB}));
}

TEST(Guard, what_was_asked_for_wins) {
  EXPECT_THAT(make_guards(gpu_on(Route::vram), memory_of(32_GiB), nullptr, 3_GiB),
              ElementsAre(Guard{"0000:0b:00.0", GuardedPool::vram, 3_GiB}));
  EXPECT_THAT(make_guards(gpu_on(Route::gtt), memory_of(32_GiB), &one_screen, 100_MiB),
              ElementsAre(Guard{"0000:0b:00.0", GuardedPool::ram, 100_MiB},
                          Guard{"0000:0b:00.0", GuardedPool::gtt, 100_MiB}));
  EXPECT_THAT(make_guards(gpu_on(Route::gtt), memory_of(32_GiB), &one_screen, Bytes{}), IsEmpty());
}

TEST(Guard, without_a_known_route_nothing_is_kept) {
  EXPECT_THAT(make_guards(Gpu{}, memory_of(32_GiB), &one_screen, 1_GiB), IsEmpty());
}

TEST(Guard, its_text_is_read_back) {
  const std::vector<Guard> guards = {{"0000:0b:00.0", GuardedPool::ram, 2_GiB},
                                     {"0000:0b:00.0", GuardedPool::gtt, 256_MiB},
                                     {"0000:03:00.0", GuardedPool::vram, 1_GiB}};
  const auto parsed = parse_guards(to_text(guards));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->guards, guards);
  EXPECT_FALSE(parsed->of_each);
  EXPECT_EQ(parse_guards("2 GiB")->of_each, 2_GiB);
  for (const char* nothing : {"", "off", "0"}) {
    const auto none = parse_guards(nothing);
    ASSERT_TRUE(none) << nothing;
    EXPECT_THAT(none->guards, IsEmpty());
    EXPECT_FALSE(none->of_each);
  }
}

TEST(Guard, text_that_makes_no_sense_is_refused) {
  for (const char* text : {"much", "-1", "0000:0b:00.0/ram", "0000:0b:00.0/disk=5", "/ram=5",
                           "a=1/ram", "0000:0b:00.0/ram=", "0000:0b:00.0/ram=0", "a/ram=1,,",
                           "a/ram=1,b", "0 GiB", "99999999999999999999"}) {
    const auto parsed = parse_guards(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().message, HasSubstr("expected an amount of memory")) << text;
  }
}

TEST(Guard, a_room_is_what_is_left_less_what_has_to_stay) {
  const Guard vram{"0000:03:00.0", GuardedPool::vram, 1_GiB};
  const auto room = make_room(vram, known(20_GiB), known(18_GiB));
  ASSERT_TRUE(room);
  EXPECT_EQ(room->room(), 1_GiB);
  // The counters are read one after the other: more can be used than there is.
  EXPECT_EQ(make_room(vram, known(20_GiB), known(21_GiB))->room(), Bytes{});
  EXPECT_FALSE(make_room(vram, known(20_GiB), Fact<Bytes>{}));
  EXPECT_EQ(make_room({"", GuardedPool::ram, 4_GiB}, memory_of(32_GiB))->room(), 6_GiB);
}

}  // namespace
}  // namespace headroom::facts
