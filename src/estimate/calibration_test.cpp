// SPDX-License-Identifier: Apache-2.0
#include "estimate/calibration.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/document.h"

namespace headroom::estimate {
namespace {

Calibration small() {
  Calibration calibration;
  calibration.key = {"a processor", "1.0", 2};
  calibration.time = "2026-01-01T00:00:00Z";
  calibration.waited_share = 0.01;
  calibration.rates.emplace(std::pair{Operation::add, DType::fp32},
                            *Grid::make({{1, 8}}, {1e-6, 2e-6}));
  calibration.rates.emplace(std::pair{Operation::product_input, DType::bf16},
                            *Grid::make({{1, 8}, {2}, {4}}, {1e-6, 2e-6}));
  calibration.steps = {{DType::fp32, 0.1, 0.12}, {DType::bf16, 0.2, 0.3}};
  return calibration;
}

std::string text_of(const Calibration& calibration) {
  Calibrations calibrations;
  calibrations.put(calibration);
  return format_calibrations(calibrations);
}

TEST(Calibrations, are_read_as_they_were_written) {
  Calibration calibration = small();
  calibration.add_run({DType::fp32, 1, 1.5});
  const auto read = parse_calibrations(text_of(calibration));
  ASSERT_TRUE(read) << read.error().message;
  const Calibration* found = read->find(calibration.key);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(to_json(*found), to_json(calibration));
}

TEST(Calibrations, one_for_each_key) {
  Calibrations calibrations;
  Calibration calibration = small();
  calibrations.put(calibration);
  calibration.time = "later";
  calibrations.put(calibration);
  calibration.key.threads = 1;
  calibrations.put(calibration);
  EXPECT_EQ(calibrations.all().size(), 2U);
  EXPECT_EQ(calibrations.find({"a processor", "1.0", 2})->time, "later");
  EXPECT_EQ(calibrations.find({"a processor", "1.0", 3}), nullptr);
  for (std::uint64_t threads = 1; threads < 100; ++threads) {
    calibration.key.threads = threads;
    calibrations.put(calibration);
  }
  EXPECT_LE(calibrations.all().size(), 16U);
}

TEST(Calibrations, a_text_that_was_cut_short_is_refused_wherever_it_was_cut) {
  const std::string text = text_of(small());
  for (std::size_t length = 0; length + 2 < text.size(); ++length)
    EXPECT_FALSE(parse_calibrations(text.substr(0, length))) << length;
}

TEST(Calibrations, hostile_documents_are_refused) {
  const Json good = *parse_json(text_of(small()));
  ASSERT_TRUE(parse_calibrations(good.dump()));
  const std::vector<Json> strangers = {nullptr,
                                       true,
                                       -1,
                                       0,
                                       1e300,
                                       "",
                                       "a\nb",
                                       "\x1b[31m",
                                       std::string(100000, 'x'),
                                       Json::array(),
                                       Json::object(),
                                       Json::array({Json::array()})};
  // Every value of the document replaced by every stranger: refused, or harmless where it fits.
  std::size_t refused = 0;
  const Json flat = good.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    for (const Json& stranger : strangers) {
      Json changed = good;
      changed[Json::json_pointer(pointer)] = stranger;
      refused += parse_calibrations(changed.dump()) ? 0U : 1U;
    }
  }
  EXPECT_GT(refused, 100U);
  const auto refuses = [&good](const char* pointer, const Json& value) {
    Json changed = good;
    changed[Json::json_pointer(pointer)] = value;
    return !parse_calibrations(changed.dump());
  };
  EXPECT_TRUE(refuses("/calibrations/0/device", "\x1b[31mred"));
  EXPECT_TRUE(refuses("/calibrations/0/threads", 0));
  EXPECT_TRUE(refuses("/calibrations/0/waited_share", 2));
  EXPECT_TRUE(refuses("/calibrations/0/rates/0/seconds/0", -1));
  EXPECT_TRUE(refuses("/calibrations/0/rates/0/seconds/0", 0));
  EXPECT_TRUE(refuses("/calibrations/0/rates/0/axes/0/0", 8));
  EXPECT_TRUE(refuses("/calibrations/0/rates/1/operation", "product-input"));  // Of three sizes.
  EXPECT_TRUE(refuses("/calibrations/0/steps/0/rates_s", 0));
}

TEST(Calibrations, one_from_the_future_is_told_from_a_wrong_one) {
  Json json = *parse_json(text_of(small()));
  json["schema"] = "headroom.calibration/2";
  const auto read = parse_calibrations(json.dump());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::unsupported);
  EXPECT_EQ(parse_calibrations("{").error().code, Errc::invalid);
}

TEST(CalibrationKey, says_what_differs) {
  const CalibrationKey key{"a processor", "1.0", 2};
  EXPECT_EQ(difference_of(key, key), "");
  EXPECT_EQ(difference_of(key, {"another", "1.0", 2}),
            "it was measured on a processor, and this is another");
  EXPECT_EQ(difference_of(key, {"a processor", "1.1", 2}),
            "it was measured with headroom 1.0, and this is 1.1");
  EXPECT_EQ(difference_of(key, {"a processor", "1.0", 1}),
            "it was measured with 2 threads, and a run would have 1");
}

TEST(Correction, is_the_mean_of_measured_over_predicted) {
  Calibration calibration = small();
  calibration.steps = {{DType::fp32, 1, 1.2}, {DType::fp32, 1, 1.2}};
  const Correction correction = correction_of(calibration, DType::fp32, 1);
  EXPECT_NEAR(correction.factor, 1.2, 1e-9);
  EXPECT_LT(correction.low, 1.2);
  EXPECT_GT(correction.high, 1.2);
}

TEST(Correction, follows_a_run_of_the_same_job) {
  Calibration calibration = small();
  calibration.steps = {{DType::fp32, 0.01, 0.01}, {DType::fp32, 0.1, 0.1}};
  const double before = std::abs(correction_of(calibration, DType::fp32, 3).factor - 1.5);
  calibration.add_run({DType::fp32, 3, 4.5});
  const double after = std::abs(correction_of(calibration, DType::fp32, 3).factor - 1.5);
  EXPECT_LT(after, before / 4);
  // Another one, of a step a thousand times shorter, hardly notices.
  EXPECT_LT(correction_of(calibration, DType::fp32, 0.003).factor, 1.1);
}

TEST(Correction, spread_makes_the_range_wider_and_so_does_distance) {
  Calibration even = small(), uneven = small();
  even.steps = {{DType::fp32, 1, 1}, {DType::fp32, 1, 1}};
  uneven.steps = {{DType::fp32, 1, 0.7}, {DType::fp32, 1, 1.4}};
  const auto width = [](const Calibration& calibration, double seconds) {
    const Correction correction = correction_of(calibration, DType::fp32, seconds);
    return correction.high / correction.low;
  };
  EXPECT_GT(width(uneven, 1), width(even, 1));
  EXPECT_GT(width(even, 10000), width(even, 1));
}

TEST(Correction, of_a_type_without_steps_is_that_of_all) {
  Calibration calibration = small();
  calibration.steps = {{DType::fp32, 1, 1.5}};
  EXPECT_NEAR(correction_of(calibration, DType::bf16, 1).factor, 1.5, 1e-9);
  calibration.steps.clear();
  EXPECT_EQ(correction_of(calibration, DType::bf16, 1).factor, 1);
}

TEST(Correction, the_oldest_runs_are_forgotten) {
  Calibration calibration = small();
  for (int i = 0; i < 100; ++i) calibration.add_run({DType::fp32, 1, 1.0 + i});
  EXPECT_LE(calibration.runs.size(), 16U);
  EXPECT_EQ(calibration.runs.back().measured_s, 100);
}

}  // namespace
}  // namespace headroom::estimate
