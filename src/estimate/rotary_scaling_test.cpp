// SPDX-License-Identifier: Apache-2.0
#include "estimate/rotary_scaling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.h"

namespace headroom::estimate {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

constexpr std::uint64_t head_dim = 16;

Result<RotaryScaling> read(const std::string& config, double theta = 1e4) {
  return read_rotary_scaling(*parse_json(config), {theta, head_dim, /*class_positions=*/2048});
}

struct Computed {
  const char* config;
  double theta;
  std::vector<double> divisors;
  double magnitude;
};

// What ROPE_INIT_FUNCTIONS of transformers 5.23 give, as the ratio of theta^(−2i/16) to them.
TEST(RotaryScaling, frequencies_are_those_of_transformers) {
  const std::vector<Computed> all = {
      {R"({"rope_scaling":{"rope_type":"llama3","factor":32.0,"low_freq_factor":1.0,)"
       R"("high_freq_factor":4.0,"original_max_position_embeddings":8192},)"
       R"("max_position_embeddings":131072})",
       500000,
       {1, 1, 1, 1, 3.292263, 32, 32, 32},
       1},
      {R"({"rope_parameters":{"rope_type":"yarn","factor":4.0,)"
       R"("original_max_position_embeddings":32768},"max_position_embeddings":131072})",
       1e6,
       {1, 1, 1, 1.333333, 2, 4, 4, 4},
       1.138629436},
      {R"({"rope_scaling":{"type":"yarn","factor":40.0,"mscale":1.0,"mscale_all_dim":0.5,)"
       R"("truncate":false,"original_max_position_embeddings":4096}})",
       1e4,
       {1, 1, 1, 1.141169, 1.810262, 4.376018, 40, 40},
       1.15572199},
      {R"({"rope_scaling":{"type":"yarn","factor":null,"original_max_position_embeddings":4096},)"
       R"("max_position_embeddings":163840})",
       1e4,
       {1, 1, 1, 1.322314, 1.95122, 3.72093, 40, 40},
       1.368887945},
      {R"({"rope_scaling":{"type":"linear","factor":4.0}})", 1e4, {4, 4, 4, 4, 4, 4, 4, 4}, 1},
      {R"({"rope_scaling":{"type":"su","short_factor":[1,1.1,1.2,1.3,1.4,1.5,1.6,1.7],)"
       R"("long_factor":[]},)"
       R"("original_max_position_embeddings":4096,"max_position_embeddings":131072})",
       1e4,
       {1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7},
       1.190238071},
  };
  for (const Computed& one : all) {
    const auto scaling = read(one.config, one.theta);
    ASSERT_TRUE(scaling) << scaling.error().message;
    EXPECT_THAT(scaling->divisors, Pointwise(DoubleNear(1e-5), one.divisors)) << one.config;
    EXPECT_NEAR(scaling->magnitude, one.magnitude, 1e-6) << one.config;
  }
}

TEST(RotaryScaling, some_types_hold_up_to_a_length) {
  EXPECT_EQ(read(R"({"rope_scaling":{"type":"longrope","short_factor":[1,1,1,1,1,1,1,1],)"
                 R"("long_factor":[1,1,1,1,1,1,1,1]},)"
                 R"("original_max_position_embeddings":4096})")
                ->longest,
            4096U);
  const auto dynamic =
      read(R"({"rope_scaling":{"type":"dynamic","factor":2},"max_position_embeddings":2048})");
  EXPECT_TRUE(dynamic->divisors.empty());
  EXPECT_EQ(dynamic->longest, 2048U);
  EXPECT_EQ(read(R"({"rope_scaling":{"type":"linear","factor":2}})")->longest, 0U);
}

// _compute_yarn_parameters asks `if mscale and mscale_all_dim`.
TEST(RotaryScaling, an_mscale_of_0_is_none) {
  const auto magnitude = [](const std::string& scales) {
    const auto scaling = read(R"({"rope_scaling":{"type":"yarn","factor":4)" + scales + "}}");
    return scaling ? scaling->magnitude : 0;
  };
  EXPECT_DOUBLE_EQ(magnitude(R"(,"mscale":0,"mscale_all_dim":0.5)"), magnitude(""));
  EXPECT_GT(magnitude(""), 1);
}

TEST(RotaryScaling, a_class_has_positions_that_a_config_leaves_out) {
  const Json dynamic = *parse_json(R"({"rope_scaling":{"type":"dynamic","factor":2}})");
  EXPECT_EQ(read_rotary_scaling(dynamic, {1e4, head_dim, 32768})->longest, 32768U);
  const auto unknown = read_rotary_scaling(dynamic, {1e4, head_dim});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("max_position_embeddings: expected"));
}

TEST(RotaryScaling, an_empty_one_is_none_and_the_other_key_counts) {
  for (const char* empty : {"{}", "[]"}) {
    const auto scaling = read(R"({"rope_scaling":)" + std::string(empty) +
                              R"(,"rope_parameters":{"rope_type":"linear","factor":4}})");
    ASSERT_TRUE(scaling) << scaling.error().message;
    EXPECT_EQ(scaling->kind, "linear, factor 4");
  }
}

TEST(RotaryScaling, without_one_nothing_is_scaled) {
  for (const char* config : {"{}", R"({"rope_scaling":null})", R"({"rope_scaling":{}})",
                             R"({"rope_parameters":{"rope_theta":500000.0}})"}) {
    const auto scaling = read(config);
    ASSERT_TRUE(scaling) << config;
    EXPECT_EQ(scaling->kind, "default");
    EXPECT_TRUE(scaling->divisors.empty());
  }
}

// A run is not resumed with another scaling (trainer/run_identity.h).
TEST(RotaryScaling, the_text_tells_settings_apart) {
  const auto text = [](const char* factor) {
    return read(R"({"rope_scaling":{"rope_type":"llama3","factor":)" + std::string(factor) +
                R"(,"low_freq_factor":1,"high_freq_factor":4},"max_position_embeddings":64})")
        ->kind;
  };
  EXPECT_EQ(text("8"),
            "llama3, factor 8, low_freq_factor 1, high_freq_factor 4, "
            "original_max_position_embeddings 64");
  EXPECT_NE(text("8"), text("16"));
  const auto with_factors = [](const char* factors) {
    return read(R"({"rope_scaling":{"type":"longrope","short_factor":)" + std::string(factors) +
                R"(,"long_factor":[]},"original_max_position_embeddings":64})")
        ->kind;
  };
  EXPECT_NE(with_factors("[1,2,3,4,5,6,7,8]"), with_factors("[2,1,3,4,5,6,7,8]"));
}

TEST(RotaryScaling, wrong_settings_are_named) {
  const auto complaint = [](const std::string& config) {
    const auto scaling = read(config);
    return scaling ? "none" : scaling.error().message;
  };
  EXPECT_THAT(complaint(R"({"rope_scaling":{"type":"mrope"}})"),
              HasSubstr("rope_scaling.rope_type: expected \"default\", \"linear\""));
  EXPECT_THAT(complaint(R"({"rope_scaling":{"type":"linear"}})"),
              HasSubstr("rope_scaling.factor: expected a number above 0, found nothing"));
  EXPECT_THAT(complaint(R"({"rope_scaling":{"type":"linear","factor":-1}})"),
              HasSubstr("rope_scaling.factor"));
  EXPECT_THAT(complaint(R"({"rope_scaling":[1]})"), HasSubstr("rope_scaling: expected a table"));
  EXPECT_THAT(complaint(R"({"rope_scaling":{"type":"longrope","short_factor":[1,2,3]}})"),
              HasSubstr("short_factor: expected 8 numbers from 1e-06 to 1000000, found 3"));
  EXPECT_THAT(complaint(R"({"rope_scaling":{"type":"longrope","short_factor":[1,1,1,1,1,1,1,0]}})"),
              HasSubstr("found 0 among them"));
  for (const char* scaling :
       {R"("yarn")", R"("dynamic")", R"("linear","factor":1e7)", R"("yarn","factor":1e-9)"})
    EXPECT_THAT(complaint(R"({"rope_scaling":{"type":)" + std::string(scaling) + "}}"),
                HasSubstr("rope_scaling.factor: expected"))
        << scaling;
  EXPECT_THAT(complaint(R"({"rope_scaling":{"type":"longrope","short_factor":[1,1,1,1,1,1,1,1]},)"
                        R"("original_max_position_embeddings":64})"),
              HasSubstr("rope_scaling.long_factor: expected"));
  EXPECT_THAT(complaint(R"({"rope_scaling":{"type":"llama3","factor":8,"low_freq_factor":4,)"
                        R"("high_freq_factor":4}})"),
              HasSubstr("high_freq_factor: expected a number above low_freq_factor"));
}

}  // namespace
}  // namespace headroom::estimate
