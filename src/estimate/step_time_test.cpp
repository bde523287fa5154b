// SPDX-License-Identifier: Apache-2.0
// Times by made-up rates: every operation takes a nanosecond, and for each number, multiplication
// or pair of tokens a thousandth of one.
#include "estimate/step_time.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "estimate/headroom_engine.h"

namespace headroom::estimate {
namespace {

OperationTimes made_up_rates() {
  const std::vector<std::uint64_t> sizes = {1, 16, 256, 4096};
  OperationTimes rates;
  for (int i = 0; i <= static_cast<int>(last_operation); ++i) {
    const auto operation = static_cast<Operation>(i);
    const Grid::Axes axes(size_count(operation), sizes);
    std::vector<double> seconds = {1};
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      const double power = axes.size() == 2 && axis == 0 ? 2 : 1;  // Attention's sequence.
      std::vector<double> longer;
      for (const double time : seconds)
        for (const std::uint64_t size : sizes)
          longer.push_back(time * std::pow(static_cast<double>(size), power));
      seconds = std::move(longer);
    }
    for (double& time : seconds) time = 1e-9 + 1e-12 * time;
    for (const DType dtype : {DType::fp32, DType::bf16})
      rates.emplace(std::pair{operation, dtype}, *Grid::make(axes, seconds));
  }
  return rates;
}

Calibration made_up() {
  Calibration calibration;
  calibration.key = {"a processor", "1.0", 2};
  calibration.time = "2026-01-01T00:00:00Z";
  calibration.rates = made_up_rates();
  return calibration;
}

Job small_job() {
  Job job;
  job.engine.kind = EngineKind::headroom;
  job.compute.dtype = DType::fp32;
  job.compute.attention = Attention::efficient;
  job.batch.micro = 2;
  job.batch.sequence = 64;
  job.batch.accumulate = 1;
  return job;
}

ModelConfig small_model() {
  ModelConfig model;
  model.family = "llama";
  model.hidden = 64;
  model.intermediate = 160;
  model.layers = 3;
  model.heads = 4;
  model.kv_heads = 2;
  model.head_dim = 16;
  model.vocabulary = 300;
  return model;
}

double step_of(const Job& job, const ModelConfig& model) {
  static const OperationTimes rates = made_up_rates();
  const auto seconds = rates_of_step(job, model, rates);
  EXPECT_TRUE(seconds);
  return seconds.value_or(0);
}

double count_of(const Work& work, Operation operation) {
  double count = 0;
  for (const auto& [call, times] : work.calls())
    if (call.operation == operation) count += times;
  return count;
}

TEST(Work, a_step_runs_every_projection_forward_and_backward) {
  const ModelConfig model = small_model();
  const Work work = work_of_micro_batch(small_job(), model);
  constexpr double projections = 7, head = 1;
  EXPECT_EQ(count_of(work, Operation::product_forward), projections * 3 + head);
  EXPECT_EQ(count_of(work, Operation::product_input), projections * 3 + head);
  EXPECT_EQ(count_of(work, Operation::product_weight), projections * 3 + head);
  EXPECT_EQ(count_of(work, Operation::attention_forward), 3 * 2 * 4);  // Layers, samples, heads.
  EXPECT_EQ(count_of(work, Operation::attention_backward), 3 * 2 * 4);
  EXPECT_EQ(count_of(work, Operation::norm), 2 * 3 + 1);
  EXPECT_EQ(count_of(work, Operation::add), 4 * 3);  // The residuals, there and back.
  EXPECT_EQ(count_of(work, Operation::math_forward), 0);
}

TEST(Work, multiplications_are_those_of_the_weights) {
  const ModelConfig model = small_model();
  double forward = 0;
  const Work work = work_of_micro_batch(small_job(), model);
  for (const auto& [call, times] : work.calls()) {
    if (call.operation == Operation::product_forward)
      forward += times * static_cast<double>(call.size[0] * call.size[1] * call.size[2]);
  }
  const double weights = 3.0 * (64 * (64 + 32 + 32 + 64) + 3 * 64 * 160) + 300 * 64;
  EXPECT_DOUBLE_EQ(forward, 2.0 * 64 * weights);
}

TEST(Work, checkpointed_layers_run_forward_twice) {
  Job job = small_job();
  job.compute.checkpointing = Checkpointing::layer;
  const Work work = work_of_micro_batch(job, small_model());
  EXPECT_EQ(count_of(work, Operation::product_forward), 7 * 3 * 2 + 1);
}

TEST(Work, frozen_weights_have_no_gradient_and_the_optimizer_moves_adapters_alone) {
  Job job = small_job();
  job.method.kind = MethodKind::lora;
  job.method.targets = {Target::q};
  const Work work = work_of_micro_batch(job, small_model());
  EXPECT_EQ(count_of(work, Operation::product_weight), 2 * 3);  // A and B of q in each layer.
  EXPECT_EQ(count_of(work_of_optimizer(job, small_model()), Operation::adamw), 2 * 3);
}

TEST(Work, the_optimizer_is_the_jobs) {
  Job job = small_job();
  job.optimizer.kind = OptimizerKind::sgd;
  EXPECT_GT(count_of(work_of_optimizer(job, small_model()), Operation::sgd), 0);
  job.optimizer.momentum = 0.9;
  EXPECT_GT(count_of(work_of_optimizer(job, small_model()), Operation::sgd_momentum), 0);
  job.optimizer.kind = OptimizerKind::adafactor;
  EXPECT_GT(count_of(work_of_optimizer(job, small_model()), Operation::adafactor), 0);
}

TEST(Work, chunks_of_the_loss_add_up_to_all_rows) {
  Job job = small_job();
  job.compute.loss = Loss::chunked;
  job.batch.sequence = 1000;
  double numbers = 0;
  const Work work = work_of_micro_batch(job, small_model());
  for (const auto& [call, times] : work.calls())
    if (call.operation == Operation::cross_entropy)
      numbers += times * static_cast<double>(call.size[0]);
  EXPECT_DOUBLE_EQ(numbers, 2 * 1000 * 300);
}

TEST(Work, a_window_makes_long_sequences_cheaper) {
  Job job = small_job();
  job.batch.sequence = 1024;
  ModelConfig windowed = small_model();
  windowed.windows = {128, 128, 128};
  EXPECT_LT(step_of(job, windowed), step_of(job, small_model()));
}

TEST(StepTime, an_epoch_is_the_sum_of_its_micro_batches) {
  Job job = small_job();
  job.batch.accumulate = 2;
  EpochShape epoch;
  epoch.steps = 5;
  epoch.training[{2, 64}] = 10;
  const auto time = predict_time(job, small_model(), made_up(), epoch);
  ASSERT_TRUE(time);
  EXPECT_NEAR(time->rates_s, step_of(job, small_model()), 1e-15);
  EXPECT_NEAR(time->epoch->likely, 5 * time->step.likely, 1e-15);
  epoch.evaluation[{2, 64}] = 3;
  const auto evaluated = predict_time(job, small_model(), made_up(), epoch);
  EXPECT_GT(evaluated->epoch->likely, time->epoch->likely);
  EXPECT_LT(evaluated->epoch->likely, time->epoch->likely * 1.3);
}

TEST(StepTime, the_range_holds_what_is_likely) {
  const auto time = predict_time(small_job(), small_model(), made_up(), std::nullopt);
  ASSERT_TRUE(time);
  EXPECT_LT(time->step.low, time->step.likely);
  EXPECT_GT(time->step.high, time->step.likely);
  EXPECT_FALSE(time->epoch);
}

TEST(StepTime, a_calibration_without_an_operation_says_nothing_of_jobs_with_it) {
  Calibration calibration = made_up();
  calibration.rates.erase({Operation::swiglu, DType::fp32});
  EXPECT_FALSE(predict_time(small_job(), small_model(), calibration, std::nullopt));
}

RC_GTEST_PROP(StepTime, never_falls_where_a_job_grows, ()) {
  Job job = small_job();
  job.compute.dtype = *rc::gen::element(DType::fp32, DType::bf16);
  job.compute.attention = *rc::gen::element(Attention::efficient, Attention::math);
  job.compute.checkpointing = *rc::gen::element(Checkpointing::none, Checkpointing::layer);
  job.method.kind = *rc::gen::element(MethodKind::full, MethodKind::lora);
  job.batch.micro = *rc::gen::inRange<std::uint64_t>(1, 9);
  job.batch.sequence = *rc::gen::inRange<std::uint64_t>(2, 3000);
  job.batch.accumulate = *rc::gen::inRange<std::uint64_t>(1, 5);
  ModelConfig model = small_model();
  model.layers = *rc::gen::inRange<std::uint64_t>(1, 5);
  model.qk_norm = *rc::gen::arbitrary<bool>();
  const double before = step_of(job, model);
  Job more = job;
  ModelConfig larger = model;
  switch (*rc::gen::inRange(0, 6)) {
    case 0:
      more.batch.micro = *job.batch.micro + *rc::gen::inRange<std::uint64_t>(1, 5);
      break;
    case 1:
      more.batch.sequence += *rc::gen::inRange<std::uint64_t>(1, 500);
      break;
    case 2:
      more.batch.accumulate = *job.batch.accumulate + 1;
      break;
    case 3:
      larger.layers += 1;
      break;
    case 4:
      larger.intermediate += *rc::gen::inRange<std::uint64_t>(1, 500);
      break;
    default:
      larger.vocabulary += *rc::gen::inRange<std::uint64_t>(1, 500);
  }
  RC_ASSERT(step_of(more, larger) >= before * (1 - 1e-12));
}

}  // namespace
}  // namespace headroom::estimate
