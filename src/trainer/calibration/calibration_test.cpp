// SPDX-License-Identifier: Apache-2.0
// That every operation can be measured: how fast it is, is no test.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "estimate/headroom_engine.h"
#include "trainer/calibration/calibrate.h"
#include "trainer/calibration/measure_rates.h"
#include "trainer/calibration/operations.h"

namespace headroom::trainer::calibration {
namespace {

using estimate::Operation;

TEST(Operations, each_runs_on_its_smallest_and_on_odd_sizes) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    Pool pool(4, dtype);
    for (int i = 0; i <= static_cast<int>(estimate::last_operation); ++i) {
      const auto operation = static_cast<Operation>(i);
      const auto axes = axes_of(operation);
      if (axes.empty()) continue;
      SCOPED_TRACE(fmt::format("{} {}", to_string(operation), at::toString(dtype)));
      EXPECT_EQ(axes.size(), estimate::size_count(operation));
      std::array<std::uint64_t, 3> smallest{1, 1, 1};
      for (std::size_t axis = 0; axis < axes.size(); ++axis) smallest[axis] = axes[axis].front();
      const auto call = make_operation(operation, smallest, pool);
      EXPECT_NO_THROW(call());
      EXPECT_NO_THROW(call());
    }
  }
}

// A job whose operations were not all measured would have no time.
TEST(Operations, all_that_a_job_can_do_are_measured) {
  estimate::ModelConfig model;
  model.family = "qwen3";
  model.hidden = 64;
  model.intermediate = 96;
  model.layers = 2;
  model.heads = 4;
  model.kv_heads = 2;
  model.head_dim = 16;
  model.vocabulary = 99;
  model.qk_norm = true;
  model.qkv_bias = true;
  const auto expect_measured = [](const estimate::Work& work) {
    for (const auto& [call, times] : work.calls())
      EXPECT_FALSE(axes_of(call.operation).empty()) << to_string(call.operation);
  };
  for (const auto method : {estimate::MethodKind::full, estimate::MethodKind::lora}) {
    for (const auto attention : {estimate::Attention::math, estimate::Attention::efficient}) {
      estimate::Job job;
      job.method.kind = method;
      job.method.dropout = method == estimate::MethodKind::lora ? 0.1 : 0;
      job.compute.attention = attention;
      job.batch.micro = 2;
      job.batch.sequence = 32;
      expect_measured(work_of_micro_batch(job, model));
      expect_measured(work_of_evaluation(job, model));
      for (const auto kind : {estimate::OptimizerKind::adamw, estimate::OptimizerKind::sgd,
                              estimate::OptimizerKind::adafactor}) {
        job.optimizer.kind = kind;
        expect_measured(work_of_optimizer(job, model));
      }
    }
  }
}

TEST(Calibrate, ends_where_it_is_asked_to) {
  const CalibrationRequest request{.on_stage = [](const std::string& /*text*/) {},
                                   .wants_stop = [] { return true; }};
  const auto calibrated = calibrate(request);
  ASSERT_FALSE(calibrated);
  EXPECT_EQ(calibrated.error().code, Errc::busy);
  const auto rates = measure_rates({estimate::DType::fp32}, {}, [] { return true; });
  EXPECT_FALSE(rates);
}

}  // namespace
}  // namespace headroom::trainer::calibration
