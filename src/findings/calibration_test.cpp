// SPDX-License-Identifier: Apache-2.0
#include "findings/calibration.h"

#include <gtest/gtest.h>

namespace headroom::findings {
namespace {

LogDiagnosis answer(std::string id, double weight) {
  LogDiagnosis diagnosis;
  diagnosis.cause.id = std::move(id);
  diagnosis.cause.confidence = weight;
  diagnosis.runners_up = {{"gpu-hang", (1 - weight) * 0.5, ""}, {"hw-error", (1 - weight) / 4, ""}};
  return diagnosis;
}

TEST(Calibration, grows_with_the_weight_and_keeps_what_is_relied_on) {
  double before = 0;
  for (int percent = 0; percent <= 100; ++percent) {
    const double weight = percent / 100.0, share = share_right(weight);
    EXPECT_GE(share, before) << weight;
    EXPECT_LE(share, 1) << weight;
    EXPECT_EQ(share >= relied_on, weight >= relied_on) << weight;
    before = share;
  }
}

TEST(Calibration, what_else_it_could_be_keeps_its_proportions_within_the_whole) {
  auto diagnosis = answer("app-bug", 0.5);
  calibrate(diagnosis);
  const auto& others = diagnosis.runners_up;
  EXPECT_GT(diagnosis.cause.confidence, 0.7);
  EXPECT_NEAR(others[0].confidence, 2 * others[1].confidence, 1e-9);
  EXPECT_LE(diagnosis.cause.confidence + others[0].confidence + others[1].confidence, 1);
}

TEST(Calibration, not_knowing_and_what_was_measured_stay) {
  auto unknown = answer("insufficient-evidence", 0.5);
  calibrate(unknown);
  EXPECT_EQ(unknown.cause.confidence, 0.5);
  auto measured = answer("ttm-cap", 0.5);
  measured.is_measured = true;
  calibrate(measured);
  EXPECT_EQ(measured.cause.confidence, 0.5);
}

TEST(Calibration, a_line_that_speaks_against_it_still_bounds_it) {
  auto doubted = answer("app-bug", 0.75);
  doubted.cause.against = {{"job.log", 1, "tensor([2.])", "the GPU computed"}};
  calibrate(doubted);
  EXPECT_LE(doubted.cause.confidence, 0.75);
}

}  // namespace
}  // namespace headroom::findings
