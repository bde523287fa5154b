// SPDX-License-Identifier: Apache-2.0
// What past runs tell of the planner: which runs count, when an error is systematic, and which part
// it comes from. Each cause is made by changing that part alone.
#include "estimate/past_errors.h"

#include <gtest/gtest.h>

#include <functional>

namespace headroom::estimate {
namespace {

using Part = ErrorCause::Part;

constexpr std::uint64_t mib = (1_MiB).value;
constexpr std::uint64_t context = 378 * mib;

PastRun planned_run() {
  PastRun run;
  run.family = "llama";
  run.architecture = "a";
  run.engine = "transformers";
  run.method = "lora";
  run.device = "MI50";
  return run;
}

// A run of this batch, planned and measured alike: activations and logits grow with it.
PastRun exact_run(std::uint64_t batch) {
  PastRun run = planned_run();
  allocator::ByComponent components;
  components[Component::weights] = 4000 * mib;
  components[Component::activations] = 700 * batch * mib;
  // Not in proportion to the activations, as where batch and sequence both change.
  components[Component::logits] = (90 * batch + 40 * batch * batch) * mib;
  std::uint64_t allocated = 0;
  for (const auto component : allocator::all_components) allocated += components[component];
  run.predicted = {allocated, allocated + 100 * mib, allocated + 100 * mib + context, components};
  run.measured = run.predicted;
  return run;
}

// Makes what was measured of one component `times` what was planned, and all that contains it.
void scale(PastRun& run, Component component, double times) {
  auto& measured = (*run.measured.components)[component];
  const auto before = measured;
  measured = static_cast<std::uint64_t>(static_cast<double>(before) * times);
  for (auto* amount :
       {&run.measured.allocated_bytes, &run.measured.reserved_bytes, &run.measured.device_bytes})
    **amount += measured - before;
}

PastErrors errors_of(const std::function<void(PastRun&)>& change,
                     std::initializer_list<std::uint64_t> batches = {1, 2, 4}) {
  std::vector<PastRun> runs;
  for (const std::uint64_t batch : batches) {
    runs.push_back(exact_run(batch));
    change(runs.back());
  }
  return find_past_errors(find_such_runs(runs, planned_run()), planned_run());
}

void forget_components(PastRun& run) {
  run.measured.components.reset();
}

TEST(PastErrors, exact_plans_have_no_error_and_no_cause) {
  const PastErrors past = errors_of([](PastRun&) {});
  EXPECT_EQ(past.runs, 3U);
  EXPECT_EQ(past.same_model, 3U);
  ASSERT_EQ(past.errors.size(), 3U);
  EXPECT_EQ(past.errors.front().median, 0);
  EXPECT_FALSE(past.errors.front().systematic);
  EXPECT_TRUE(past.causes.empty());
}

TEST(PastErrors, errors_keep_their_signs) {
  int number = 0;
  const PastErrors past = errors_of([&number](PastRun& run) {
    const double factor = std::array{1.02, 0.96, 1.01}.at(number++);
    run.measured.allocated_bytes =
        static_cast<std::uint64_t>(static_cast<double>(*run.predicted.allocated_bytes) / factor);
  });
  EXPECT_NEAR(past.errors.front().median, 0.01, 1e-6);
  EXPECT_NEAR(past.errors.front().worst, -0.04, 1e-6);
  EXPECT_FALSE(past.errors.front().systematic);
}

TEST(PastErrors, two_runs_are_not_enough_to_call_an_error_systematic) {
  const auto change = [](PastRun& run) { scale(run, Component::activations, 1.5); };
  EXPECT_FALSE(errors_of(change, {1, 2}).errors.front().systematic);
  EXPECT_TRUE(errors_of(change, {1, 2, 4}).errors.front().systematic);
}

TEST(PastErrors, a_small_error_is_not_systematic_even_with_one_sign) {
  const PastErrors past = errors_of([](PastRun& run) { scale(run, Component::weights, 1.005); });
  EXPECT_LT(past.errors.front().median, 0);
  EXPECT_FALSE(past.errors.front().systematic);
}

TEST(PastErrors, the_component_that_differs_is_named_by_measurement) {
  for (const Component component :
       {Component::activations, Component::logits, Component::weights}) {
    const PastErrors past = errors_of([=](PastRun& run) { scale(run, component, 1.4); });
    ASSERT_FALSE(past.causes.empty());
    const ErrorCause& cause = past.causes.front();
    EXPECT_EQ(cause.of, Measure::allocated);
    EXPECT_EQ(cause.part, Part::component);
    EXPECT_EQ(cause.component, component);
    EXPECT_TRUE(cause.was_measured);
    EXPECT_NEAR(static_cast<double>(cause.measured_bytes),
                1.4 * static_cast<double>(cause.predicted_bytes), 2);
    // What is reserved follows what is allocated: it is no cause of its own.
    EXPECT_EQ(past.causes.size(), 1U);
  }
}

TEST(PastErrors, without_measured_components_it_is_told_by_what_the_difference_follows) {
  for (const Component component : {Component::activations, Component::logits}) {
    const PastErrors past = errors_of([=](PastRun& run) {
      scale(run, component, 1.4);
      forget_components(run);
    });
    ASSERT_FALSE(past.causes.empty());
    EXPECT_EQ(past.causes.front().part, Part::component);
    EXPECT_EQ(past.causes.front().component, component);
    EXPECT_FALSE(past.causes.front().was_measured);
    EXPECT_NEAR(static_cast<double>(past.causes.front().measured_bytes),
                1.4 * static_cast<double>(past.causes.front().predicted_bytes), 10);
  }
}

TEST(PastErrors, the_same_amount_in_every_run_is_no_component) {
  const PastErrors past = errors_of([](PastRun& run) {
    *run.measured.allocated_bytes += 500 * mib;
    forget_components(run);
  });
  ASSERT_FALSE(past.causes.empty());
  EXPECT_EQ(past.causes.front().part, Part::fixed_amount);
}

TEST(PastErrors, runs_that_are_alike_tell_nothing) {
  const PastErrors past = errors_of(
      [](PastRun& run) {
        scale(run, Component::activations, 1.4);
        forget_components(run);
      },
      {2, 2, 2});
  ASSERT_FALSE(past.causes.empty());
  EXPECT_EQ(past.causes.front().part, Part::unknown);
}

TEST(PastErrors, a_difference_over_several_components_is_called_that) {
  const PastErrors past = errors_of(
      [](PastRun& run) {
        scale(run, Component::activations, 1.1);
        (*run.measured.components)[Component::other] += 70 * mib;
        (*run.measured.components)[Component::workspace] += 70 * mib;
        *run.measured.allocated_bytes += 140 * mib;
      },
      {1, 1, 1});
  ASSERT_FALSE(past.causes.empty());
  EXPECT_EQ(past.causes.front().part, Part::spread);
}

TEST(PastErrors, another_context_is_found_where_everything_below_it_is_right) {
  const PastErrors past = errors_of([](PastRun& run) { *run.measured.device_bytes += 400 * mib; });
  ASSERT_EQ(past.causes.size(), 1U);
  EXPECT_EQ(past.causes.front().of, Measure::device);
  EXPECT_EQ(past.causes.front().part, Part::context);
  EXPECT_EQ(past.causes.front().predicted_bytes, context);
  EXPECT_EQ(past.causes.front().measured_bytes, context + 400 * mib);
}

TEST(PastErrors, the_allocator_is_found_where_the_tensors_are_right) {
  const PastErrors past = errors_of([](PastRun& run) {
    *run.measured.reserved_bytes += 900 * mib;
    *run.measured.device_bytes += 900 * mib;
  });
  ASSERT_EQ(past.causes.size(), 1U);
  EXPECT_EQ(past.causes.front().of, Measure::reserved);
  EXPECT_EQ(past.causes.front().part, Part::allocator);
}

TEST(PastErrors, the_context_is_judged_on_the_same_device_only) {
  const PastErrors past = errors_of([](PastRun& run) {
    run.device = "RX 7900 XT";
    *run.measured.device_bytes += 400 * mib;
  });
  EXPECT_EQ(past.errors.size(), 2U);
  EXPECT_TRUE(past.causes.empty());
}

TEST(PastErrors, what_ran_out_of_memory_is_counted_and_measures_nothing) {
  const PastErrors past = errors_of([](PastRun& run) {
    run.outcome = Outcome::out_of_memory;
    *run.measured.allocated_bytes /= 2;
  });
  EXPECT_EQ(past.runs, 3U);
  EXPECT_EQ(past.out_of_memory, 3U);
  EXPECT_TRUE(past.errors.empty());
}

TEST(PastErrors, such_runs_are_of_the_same_engine_family_and_method_nearest_first) {
  PastRun other_engine = exact_run(1);
  other_engine.engine = "headroom";
  PastRun other_method = exact_run(1);
  other_method.method = "full";
  PastRun other_family = exact_run(1);
  other_family.family = "qwen2";
  PastRun other_model = exact_run(2);
  other_model.architecture = "b";
  PastRun other_device = exact_run(2);
  other_device.device = "RX 7900 XT";
  PastRun far = exact_run(64);
  PastRun near = exact_run(3);
  PastRun planned = planned_run();
  planned.predicted = exact_run(2).predicted;
  const auto such = find_such_runs(
      {other_engine, other_model, other_method, other_device, far, other_family, near}, planned);
  ASSERT_EQ(such.size(), 4U);
  EXPECT_EQ(such[0].predicted.allocated_bytes, near.predicted.allocated_bytes);
  EXPECT_EQ(such[1].predicted.allocated_bytes, far.predicted.allocated_bytes);
  EXPECT_EQ(such[2].device, "RX 7900 XT");
  EXPECT_EQ(such[3].architecture, "b");
}

TEST(PastErrors, of_no_runs_are_empty) {
  const PastErrors past = find_past_errors({}, planned_run());
  EXPECT_EQ(past.runs, 0U);
  EXPECT_TRUE(past.errors.empty());
}

}  // namespace
}  // namespace headroom::estimate
