// SPDX-License-Identifier: Apache-2.0
// The engine against sums by hand: what is stored, what a layer keeps, what the loss needs.
#include "estimate/transformers/engine.h"

#include <gtest/gtest.h>

#include <map>

#include "allocator/models/make_policy.h"
#include "estimate/model_config.h"
#include "estimate/step.h"

namespace headroom::estimate {
namespace {

constexpr std::uint64_t layers = 4, hidden = 256, inner = 704, vocabulary = 5000;
constexpr std::uint64_t batch = 2, sequence = 128, tokens = batch * sequence;

Architecture tiny() {
  ModelConfig config;
  config.family = "llama";
  config.hidden = hidden;
  config.intermediate = inner;
  config.layers = layers;
  config.heads = config.kv_heads = 4;
  config.head_dim = hidden / 4;
  config.vocabulary = vocabulary;
  return architecture_of(config);
}

Job base_job() {
  Job job;
  job.batch.micro = batch;
  job.batch.sequence = sequence;
  job.compute.attention = Attention::flash;
  return job;
}

struct Recorded {
  explicit Recorded(const Job& job, const Architecture& model = tiny()) {
    auto made = record_transformers(job, model, Device{}, 2);
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
    if (made) recording = *std::move(made);
  }

  Peak peak() const {
    const auto policy = allocator::make_policy("exact");
    return replay(recording, **policy);
  }
  // Bytes of all tensors of the component that are made while loading.
  std::uint64_t loaded(Component component) const {
    std::uint64_t sum = 0;
    for (const Event& event : recording.events)
      if (event.kind == Event::Kind::allocate && event.phase == Phase::load &&
          event.component == component)
        sum += recording.tensors[event.tensor].meta.bytes();
    return sum;
  }
  int count(const std::string& end) const {
    int found = 0;
    for (std::uint32_t i = 0; i < recording.tensors.size(); ++i)
      found += recording.name_of(i).ends_with(end) ? 1 : 0;
    return found;
  }

  Recording recording;
};

// Of the matrices inside layers, which quantisation takes.
constexpr std::uint64_t linear_elements = layers * (4 * hidden * hidden + 3 * hidden * inner);
constexpr std::uint64_t plain_elements = 2 * vocabulary * hidden + layers * 2 * hidden + hidden;

TEST(TransformersEngine, weights_take_what_their_format_says) {
  Job job = base_job();
  const auto weights = [&](WeightFormat format, MethodKind kind) {
    job.method.base = format;
    job.method.kind = kind;
    return Recorded(job).loaded(Component::weights);
  };
  EXPECT_EQ(weights(WeightFormat::bf16, MethodKind::full), 2 * (linear_elements + plain_elements));
  EXPECT_EQ(weights(WeightFormat::fp32, MethodKind::lora), 4 * (linear_elements + plain_elements));
  // NF4: half a byte, and fp32 for each 64.
  EXPECT_EQ(weights(WeightFormat::nf4, MethodKind::qlora),
            2 * plain_elements + linear_elements / 2 + 4 * linear_elements / 64);
  // Twice quantised: a byte for each 64, and fp32 for each 256 of these.
  EXPECT_EQ(weights(WeightFormat::nf4_dq, MethodKind::qlora),
            2 * plain_elements + linear_elements / 2 + linear_elements / 64 +
                4 * linear_elements / 64 / 256);
  // LLM.int8: a byte, and fp32 for each row.
  const std::uint64_t rows = layers * (5 * hidden + 2 * inner);
  EXPECT_EQ(weights(WeightFormat::int8, MethodKind::qlora),
            2 * plain_elements + linear_elements + 4 * rows);
}

// 4 bits, an fp16 scale and a 4-bit zero for each group of 64, and an index for each column in.
TEST(TransformersEngine, gptq_has_scales_zeros_and_an_index_by_group) {
  Job job = base_job();
  job.method.kind = MethodKind::qlora;
  job.method.base = WeightFormat::gptq4;
  job.method.group_size = 64;
  const std::uint64_t columns = layers * (6 * hidden + inner);
  EXPECT_EQ(Recorded(job).loaded(Component::weights), 2 * plain_elements + linear_elements / 2 +
                                                          linear_elements / 64 * 2 +
                                                          linear_elements / 64 / 2 + 4 * columns);
}

TEST(TransformersEngine, logits_take_what_the_version_and_the_kernel_make_of_them) {
  Job job = base_job();
  job.method.kind = MethodKind::lora;  // Or the head's gradient is more than its logits.
  job.compute.checkpointing = Checkpointing::layer;
  Architecture model = tiny();
  model.vocabulary = 200000;  // So that the peak is at the loss.
  const auto logit_bytes = [&] {
    const Peak peak = Recorded(job, model).peak();
    return static_cast<double>(peak.usage.live_at_peak[Component::logits]) /
           static_cast<double>(tokens * model.vocabulary);
  };
  job.engine.transformers = "4.45.2";
  EXPECT_NEAR(logit_bytes(), 12, 0.2);
  job.engine.transformers = "4.48.1";
  EXPECT_NEAR(logit_bytes(), 14, 0.2);
  job.engine.transformers = "4.57";
  EXPECT_NEAR(logit_bytes(), 12, 0.2);
  job.compute.loss = Loss::triton;
  job.compute.keep_outputs = true;
  job.engine.transformers = "4.48.1";
  EXPECT_NEAR(logit_bytes(), 10, 0.2);
  job.compute.keep_outputs = false;
  EXPECT_NEAR(logit_bytes(), 8, 0.2);
  job.compute.loss = Loss::fused_liger;
  EXPECT_LT(logit_bytes(), 0.2);
  // Log-probabilities in fp32, and for an eighth of them the gradients of nll_loss and log_softmax.
  job.compute.loss = Loss::linear_chunks;
  EXPECT_NEAR(logit_bytes(), 5, 0.1);
}

// fp32 adapters under no autocast keep an fp32 copy of their input for each; dropout adds a byte.
TEST(TransformersEngine, adapters_keep_their_inputs) {
  Job job = base_job();
  job.method.kind = MethodKind::lora;
  job.method.targets = {Target::q, Target::v};
  job.compute.dtype = DType::bf16;
  Recorded plain(job);
  EXPECT_EQ(plain.count("q_proj.lora_input"), 2 * static_cast<int>(layers));  // Two steps.
  job.method.dropout = 0.1;
  EXPECT_EQ(Recorded(job).count("lora_dropout.mask"), 4 * static_cast<int>(layers));
}

TEST(TransformersEngine, autocast_casts_a_trained_fp32_weight_once_a_forward) {
  Job job = base_job();
  job.method.base = WeightFormat::fp32;
  job.compute.autocast = true;
  EXPECT_EQ(Recorded(job).count("q_proj.cast"), 2 * static_cast<int>(layers));
  // A checkpoint's recomputation is a forward of its own.
  job.compute.checkpointing = Checkpointing::layer;
  EXPECT_EQ(Recorded(job).count("q_proj.cast"), 4 * static_cast<int>(layers));
}

TEST(TransformersEngine, optimizers_hold_what_they_are_known_for) {
  Job job = base_job();
  job.method.base = WeightFormat::fp32;
  job.compute.dtype = job.compute.embeddings = job.compute.residual = DType::fp32;
  const double parameters = static_cast<double>(linear_elements + plain_elements);
  const auto bytes_per_parameter = [&] {
    const Recorded recorded(job);
    std::uint64_t sum = 0;
    for (const RecordedTensor& tensor : recorded.recording.tensors)
      if (tensor.component == Component::optimizer) sum += tensor.meta.bytes();
    return static_cast<double>(sum) / parameters;
  };
  EXPECT_DOUBLE_EQ(bytes_per_parameter(), 8);
  job.optimizer.kind = OptimizerKind::adamw8bit;
  EXPECT_NEAR(bytes_per_parameter(), 2 + 8.0 / 256, 0.02);
  // The Trainer leaves those of embeddings in fp32.
  job.optimizer.by_trainer = true;
  const double table = static_cast<double>(vocabulary * hidden) / parameters;
  EXPECT_NEAR(bytes_per_parameter(), 2 + 8.0 / 256 + 6 * table, 0.02);
  job.optimizer.by_trainer = false;
  job.optimizer.kind = OptimizerKind::sgd;
  EXPECT_EQ(bytes_per_parameter(), 0);
  job.optimizer.kind = OptimizerKind::adafactor;
  EXPECT_LT(bytes_per_parameter(), 0.1);
  job.optimizer.kind = OptimizerKind::adamw;
  job.optimizer.master = Master::fp32;
  EXPECT_DOUBLE_EQ(bytes_per_parameter(), 12);
  job.optimizer.offload = true;
  EXPECT_EQ(bytes_per_parameter(), 0);
}

TEST(TransformersEngine, the_cache_holds_every_token_but_the_last) {
  Job job = base_job();
  job.method.kind = MethodKind::inference;
  job.batch.prompt = 100;
  job.batch.generate = 50;
  const Peak peak = Recorded(job).peak();
  EXPECT_EQ(peak.at, Phase::generate);
  std::uint64_t largest = 0;
  const Recorded recorded(job);
  for (const RecordedTensor& tensor : recorded.recording.tensors)
    if (tensor.component == Component::kv_cache) largest = std::max(largest, tensor.meta.bytes());
  EXPECT_EQ(largest, 2 * batch * (100 + 49) * hidden);
}

TEST(TransformersEngine, a_sliding_window_caps_the_cache) {
  Architecture model = tiny();
  model.stacks.front().windows.assign(layers, 64);
  Job job = base_job();
  job.method.kind = MethodKind::inference;
  job.batch.prompt = 32;
  job.batch.generate = 200;
  const Recorded recorded(job, model);
  const auto& last = recorded.recording;
  std::map<std::uint64_t, int> lengths;
  for (const RecordedTensor& tensor : last.tensors)
    if (tensor.component == Component::kv_cache) ++lengths[tensor.meta.shape[2]];
  EXPECT_LE(lengths.rbegin()->first, 65U);
}

TEST(TransformersEngine, selective_checkpointing_keeps_no_scores) {
  Job job = base_job();
  job.compute.attention = Attention::math;
  const std::uint64_t all = Recorded(job).peak().usage.live_peak_bytes;
  job.compute.checkpointing = Checkpointing::selective;
  const std::uint64_t selective = Recorded(job).peak().usage.live_peak_bytes;
  const std::uint64_t scores = batch * 4 * sequence * sequence * 4;
  EXPECT_LT(selective + (layers - 1) * scores, all);
}

TEST(TransformersEngine, more_tokens_than_positions_are_refused) {
  Architecture model = tiny();
  model.stacks.front().positions = Positions::learned;
  model.stacks.front().position_rows = 64;
  const auto made = record_transformers(base_job(), model, Device{}, 2);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().next, "write sequence = 64");
}

}  // namespace
}  // namespace headroom::estimate
