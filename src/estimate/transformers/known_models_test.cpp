// SPDX-License-Identifier: Apache-2.0
// Every model of the table goes through the engine: what it loads is what the model is known to
// have, and what it does is released again.
#include <gtest/gtest.h>

#include <map>

#include "estimate/models/parameters.h"
#include "estimate/transformers/engine.h"
#include "knowledge/models.h"

namespace headroom::estimate {
namespace {

std::uint64_t loaded_elements(const Recording& recording) {
  std::uint64_t sum = 0;
  for (const RecordedTensor& tensor : recording.tensors)
    if (tensor.component == Component::weights) sum += tensor.meta.elements();
  return sum;
}

// Every tensor is released exactly once, none before it is made.
void expect_balanced(const Recording& recording, const std::string& name) {
  std::vector<int> live(recording.tensors.size());
  for (const Event& event : recording.events) {
    if (event.kind == Event::Kind::allocate) ++live[event.tensor];
    if (event.kind == Event::Kind::release) --live[event.tensor];
    ASSERT_TRUE(live[event.tensor] == 0 || live[event.tensor] == 1)
        << name << ": " << recording.name_of(event.tensor);
  }
  for (std::uint32_t i = 0; i < live.size(); ++i)
    ASSERT_EQ(live[i], 0) << name << ": " << recording.name_of(i);
}

Job job_of(MethodKind kind) {
  Job job;
  job.method.kind = kind;
  job.compute.attention = Attention::flash;
  job.batch.micro = 2;
  job.batch.sequence = job.batch.prompt = 24;
  job.batch.generate = kind == MethodKind::inference ? 6 : 0;
  if (kind == MethodKind::qlora) job.method.base = WeightFormat::nf4_dq;
  return job;
}

class KnownModels : public ::testing::TestWithParam<MethodKind> {};

TEST_P(KnownModels, load_what_they_have_and_leave_nothing_behind) {
  const auto models = knowledge::load_models();
  ASSERT_TRUE(models.has_value());
  for (const knowledge::KnownModel& known : *models) {
    const auto model = parse_architecture(known.config);
    ASSERT_TRUE(model.has_value()) << known.name << ": " << model.error().message;
    const Job job = job_of(GetParam());
    const auto recording = record_transformers(job, *model, Device{}, 1);
    ASSERT_TRUE(recording.has_value()) << known.name << ": " << recording.error().message;
    if (plain_type(job.method.base)) {
      EXPECT_EQ(loaded_elements(*recording), parameter_count(as_run(*model, job))) << known.name;
    }
    expect_balanced(*recording, known.name);
  }
}

// What is trained gets a gradient: or a part of the model hangs in the air.
TEST(KnownModelGradients, every_weight_that_a_language_model_trains_gets_a_gradient) {
  const auto models = knowledge::load_models();
  ASSERT_TRUE(models.has_value());
  std::map<std::string, bool> seen;  // One of each family.
  for (const knowledge::KnownModel& known : *models) {
    const auto model = parse_architecture(known.config);
    ASSERT_TRUE(model.has_value());
    const bool whole = model->stacks.size() == 1 || model->main().cross_attention;
    if (!whole || model->main().experts || !seen.try_emplace(model->family, true).second) continue;
    const Job job = job_of(MethodKind::full);
    const auto recording = record_transformers(job, *model, Device{}, 1);
    ASSERT_TRUE(recording.has_value());
    std::uint64_t gradients = 0;
    for (const Event& event : recording->events)
      if (event.kind == Event::Kind::retag && event.component == Component::gradients)
        gradients += recording->tensors[event.tensor].meta.elements();
    // Stored positions of Whisper's encoder are frozen.
    const std::uint64_t frozen = model->family == "whisper" ? model->stacks.front().position_rows *
                                                                  model->stacks.front().hidden
                                                            : 0;
    EXPECT_EQ(gradients + frozen, parameter_count(as_run(*model, job))) << known.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, KnownModels,
                         ::testing::Values(MethodKind::full, MethodKind::lora, MethodKind::qlora,
                                           MethodKind::inference),
                         [](const auto& given) { return std::string(to_string(given.param)); });

}  // namespace
}  // namespace headroom::estimate
