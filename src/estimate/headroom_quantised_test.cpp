// SPDX-License-Identifier: Apache-2.0
#include "estimate/headroom_quantised.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "allocator/models/make_policy.h"
#include "base/document.h"
#include "estimate/change.h"
#include "estimate/engine_support.h"
#include "estimate/headroom_engine.h"
#include "estimate/step.h"

namespace headroom::estimate {
namespace {

using ::testing::HasSubstr;

Job job_from(const std::string& method) {
  const auto document = parse_document(
      "[model]\nconfig = \"m\"\n[engine]\nkind = \"headroom\"\n"
      "[compute]\nattention = \"efficient\"\n[batch]\nsequence = 64\n[method]\n" +
      method);
  EXPECT_TRUE(document) << document.error().message;
  const auto job = parse_job(*document);
  EXPECT_TRUE(job) << job.error().message;
  return *job;
}

std::uint64_t peak_of(const Job& job, const ModelConfig& model) {
  const auto policy = allocator::make_policy("exact");
  return replay(record_headroom(job, model, 2), **policy).usage.live_peak_bytes;
}

TEST(QuantisedSizes, are_those_of_bitsandbytes_last_blocks_included) {
  const QuantisedSizes nf4 = quantised_sizes(WeightFormat::nf4, 23, 21);
  EXPECT_EQ(nf4.packed_bytes, 242U);  // 483 numbers.
  EXPECT_EQ(nf4.scales, 8U);
  EXPECT_EQ(nf4.total_bytes, 242U + 8 * 4);
  const QuantisedSizes twice = quantised_sizes(WeightFormat::nf4_dq, 64, 257);
  EXPECT_EQ(twice.scales, 257U);
  EXPECT_EQ(twice.nested, 2U);
  EXPECT_EQ(twice.total_bytes, 64U * 257 / 2 + 257 + 2 * 4);
  EXPECT_EQ(quantised_sizes(WeightFormat::int8, 23, 21).total_bytes, 483U + 23 * 4);
}

TEST(QuantisedBase, engine_headroom_has_those_of_bitsandbytes_and_no_others) {
  for (const char* base : {"nf4", "nf4-dq", "int8"})
    EXPECT_TRUE(check_engine(job_from(std::string("kind = \"qlora\"\nbase = \"") + base + "\"")));
  EXPECT_TRUE(check_engine(job_from("kind = \"qlora\"")));
  for (const char* base : {"gptq4", "gptq8", "awq4"}) {
    const Status refused =
        check_engine(job_from(std::string("kind = \"qlora\"\nbase = \"") + base + "\""));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("\"nf4\", \"nf4-dq\" and \"int8\", found"));
  }
  const Status other_kind = check_engine(job_from("kind = \"lora\"\nbase = \"nf4\""));
  ASSERT_FALSE(other_kind);
  EXPECT_THAT(other_kind.error().next, HasSubstr("or kind = \"qlora\""));
}

// The weights are smaller by what packing saves, and one matrix is whole for as long as a product
// takes: a step in which nothing else is large shows both.
TEST(QuantisedBase, takes_its_packed_bytes_and_one_whole_matrix_at_a_time) {
  ModelConfig model;
  model.family = "llama";
  model.hidden = 512;
  model.intermediate = 2048;
  model.layers = 4;
  model.heads = model.kv_heads = 8;
  model.head_dim = 64;
  model.vocabulary = 64;
  const std::uint64_t plain = peak_of(job_from("kind = \"lora\"\nrank = 1"), model);
  const std::uint64_t packed = peak_of(job_from("kind = \"qlora\"\nrank = 1"), model);
  const std::uint64_t numbers = 4 * (4 * 512 * 512 + 3 * 512 * 2048);
  const std::uint64_t saved = 2 * numbers - numbers / 2 - 4 * numbers / 64;
  const std::uint64_t whole = 2 * 512 * 2048;
  EXPECT_LE(plain - packed, saved);
  EXPECT_GE(plain - packed, saved - whole);
  EXPECT_LT(plain - packed, saved - whole / 4);
}

TEST(QuantisedBase, is_proposed_for_headrooms_own_trainer_too) {
  for (const char* kind : {"full", "lora"}) {
    const Job job = job_from(std::string("kind = \"") + kind + "\"");
    bool proposed = false;
    for (const Change& change : result_changes(job, {})) {
      const Job changed = apply(job, change);
      EXPECT_TRUE(check_engine(changed));
      proposed = proposed || changed.method.base == WeightFormat::nf4;
    }
    EXPECT_TRUE(proposed) << kind;
  }
}

}  // namespace
}  // namespace headroom::estimate
