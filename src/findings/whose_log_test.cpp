// SPDX-License-Identifier: Apache-2.0
#include "findings/whose_log.h"

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

facts::Facts machine_with(const char* gfx) {
  facts::Facts machine;
  facts::Gpu gpu;
  if (*gfx != '\0') gpu.gfx = {gfx, {}};
  machine.gpus.push_back(std::move(gpu));
  return machine;
}

facts::Text elsewhere(std::string_view log, const facts::Facts& machine) {
  const testing::Tables& tables = testing::tables();
  logs::Observations observations;
  logs::LogReader reader(tables.matcher, observations, 0, "job.log");
  reader.feed(log);
  reader.finish();
  return printed_elsewhere(observations, machine, tables.gpus);
}

constexpr std::string_view two_gpus =
    "  Device 0: AMD Radeon RX 7900 XTX, gfx1100 (0x1100), VMM: no, Wave Size: 32\n"
    "  Device 1: AMD Radeon Graphics, gfx1036 (0x1036), VMM: no, Wave Size: 32\n";

TEST(WhoseLog, a_gpu_that_no_machine_prints_here_is_of_another_one) {
  EXPECT_EQ(*elsewhere(two_gpus, machine_with("gfx906")), "gfx1100");
}

TEST(WhoseLog, one_of_several_suffices_to_be_at_home) {
  EXPECT_FALSE(elsewhere(two_gpus, machine_with("gfx1036")));
}

TEST(WhoseLog, a_gpu_that_may_run_as_another_one_is_at_home) {
  constexpr std::string_view as_gfx1030 = "  Device 0: AMD Radeon Graphics, gfx1030 (0x1030)\n";
  EXPECT_FALSE(elsewhere(as_gfx1030, machine_with("gfx1035")));
  EXPECT_TRUE(elsewhere(as_gfx1030, machine_with("gfx1151")));
  const std::string forced = "HSA_OVERRIDE_GFX_VERSION=10.3.0\n" + std::string(as_gfx1030);
  EXPECT_FALSE(elsewhere(forced, machine_with("gfx1151")));
}

TEST(WhoseLog, where_either_is_not_known_nothing_is_concluded) {
  EXPECT_FALSE(elsewhere(two_gpus, machine_with("")));
  EXPECT_FALSE(elsewhere(two_gpus, {}));
  EXPECT_FALSE(elsewhere("step 1/10 loss 2.0\n", machine_with("gfx1151")));
}

facts::Facts machine_of(bool integrated, std::string rung, Bytes limit) {
  facts::Facts machine = machine_with("gfx1100");
  machine.gpus[0].integrated = {integrated, {}};
  facts::Rung one;
  one.name = std::move(rung);
  one.limit = {limit, {}};
  machine.gpus[0].ladder.rungs.push_back(std::move(one));
  return machine;
}

TEST(WhoseLog, memory_that_no_gpu_here_can_have_is_of_another_machine) {
  constexpr std::string_view log =
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 96.00 MiB. GPU 0 has a total "
      "capacity of 19.98 GiB of which 45.00 MiB is free.\n";
  constexpr std::uint64_t gib = 1ULL << 30U;
  EXPECT_TRUE(elsewhere(log, machine_of(false, "vram", Bytes{24 * gib})));
  EXPECT_TRUE(elsewhere(log, machine_of(false, "vram", Bytes{16 * gib})));
  EXPECT_FALSE(elsewhere(log, machine_of(false, "vram", Bytes{20 * gib})));
  // An APU's part may have been smaller when the log was written, and never more than its RAM.
  EXPECT_FALSE(elsewhere(log, machine_of(true, "ram", Bytes{62 * gib})));
  EXPECT_TRUE(elsewhere(log, machine_of(true, "ram", Bytes{14 * gib})));
  EXPECT_FALSE(elsewhere(log, machine_with("gfx1100")));
}

TEST(WhoseLog, the_answer_says_by_which_line_it_shows) {
  LogDiagnosis diagnosis;
  say_elsewhere(elsewhere(two_gpus, machine_with("gfx906")), diagnosis);
  ASSERT_EQ(diagnosis.cause.evidence.size(), 1U);
  EXPECT_EQ(diagnosis.cause.evidence[0].line, 1);
  EXPECT_NE(diagnosis.cause.reasons.back().find("gfx1100"), std::string::npos);
}

}  // namespace
}  // namespace headroom::findings
