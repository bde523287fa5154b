// SPDX-License-Identifier: Apache-2.0
// A table of trials tells which of its columns a failure depends on.
#include "findings/causes/result_table.h"

#include <gmock/gmock.h>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using testing::diagnose;

constexpr std::string_view stated =
    R"({"vendor": "AMD", "gpu": "Instinct MI210", "gfx": "gfx90a"})";

TEST(ResultTable, the_column_that_parts_the_runs_names_the_cause) {
  const auto found = diagnose(
      "all_reduce_perf on two cards:\n"
      "| ACS | IOMMU group | NCCL_P2P_LEVEL | Hangs? |\n"
      "| --- | --- | --- | --- |\n"
      "| off | 14 | SYS | no |\n"
      "| off | 15 | PHB | no |\n"
      "| on | 14 | PHB | yes |\n"
      "| on | 15 | SYS | yes |\n",
      stated);
  EXPECT_EQ(found.cause.id, "rccl-p2p");
  EXPECT_THAT(found.cause.title, ::testing::HasSubstr("ACS"));
}

TEST(ResultTable, outcomes_in_words_count_as_well) {
  const auto found = diagnose(
      "Test | HSA_XNACK | result\n"
      "--- | --- | ---\n"
      "copy | 0 | works\n"
      "gemm | 0 | passes\n"
      "copy | 1 | segfault\n"
      "gemm | 1 | fails after a minute\n",
      stated);
  EXPECT_EQ(found.cause.id, "managed-memory");
}

TEST(ResultTable, two_columns_that_change_together_decide_nothing) {
  const std::string table =
      "| Kernel | ROCm | Crash |\n| --- | --- | --- |\n"
      "| 6.8 | 6.2 | no |\n| 6.8 | 6.2 | no |\n| 6.11 | 6.3 | yes |\n";
  const auto found = diagnose(table, stated);
  EXPECT_LT(confidence_of(found, "rocm-regression"), 0.5);
  EXPECT_LT(confidence_of(found, "kernel-too-old"), 0.5);
}

TEST(ResultTable, what_works_and_fails_with_one_value_is_not_its_fault) {
  const auto found = diagnose(
      "| IOMMU | model | Hangs? |\n| --- | --- | --- |\n"
      "| on | small | no |\n| on | large | yes |\n| off | small | no |\n| off | large | yes |\n",
      stated);
  EXPECT_LT(confidence_of(found, "rccl-p2p"), 0.5);
}

TEST(ResultTable, an_answer_in_between_is_left_out) {
  logs::Observations observations;
  logs::LogReader reader(testing::tables().matcher, observations, 0, "job.log");
  reader.feed(
      "| a | b | Broken? |\n|---|---|---|\n| 1 | 2 | No |\n| 1 | 3 | Partially |\n"
      "and then prose\n");
  reader.finish();
  ASSERT_NE(observations.first("result-table"), nullptr);
  const TrialTable table = read_table(*observations.first("result-table"));
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0].worked, std::optional(true));
  EXPECT_EQ(table.rows[1].worked, std::nullopt);
}

}  // namespace
}  // namespace headroom::findings
