// SPDX-License-Identifier: Apache-2.0
#include "estimate/onnx_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "allocator/models/make_policy.h"
#include "estimate/files/testing/onnx_bytes.h"
#include "estimate/step.h"

namespace headroom::estimate {
namespace {

using namespace testing;
using ::testing::HasSubstr;

OnnxModel model_of(const OnnxParts& parts) {
  const std::string bytes = onnx_file(parts);
  auto model = read_onnx_model(MemoryBytes(bytes));
  EXPECT_TRUE(model) << (model ? "" : model.error().message);
  return *std::move(model);
}

Job inference(std::uint64_t batch) {
  Job job;
  job.method.kind = MethodKind::inference;
  job.batch.micro = batch;
  return job;
}

// The bytes of activations that are live together at the most.
std::uint64_t peak_of(const Recording& recording) {
  std::uint64_t live = 0;
  std::uint64_t peak = 0;
  for (const Event& event : recording.events) {
    const RecordedTensor& tensor = recording.tensors[event.tensor];
    if (tensor.component != Component::activations) continue;
    const std::uint64_t bytes = tensor.meta.bytes();
    live = event.kind == Event::Kind::allocate ? live + bytes : live - bytes;
    peak = std::max(peak, live);
  }
  return peak;
}

TEST(OnnxEngine, a_tensor_goes_when_its_last_reader_has_run) {
  const auto recording = record_onnx(inference(1), model_of(tiny_detector()));
  ASSERT_TRUE(recording) << recording.error().message;
  const std::uint64_t image = 3 * 64 * 64 * 4;
  const std::uint64_t convolved = 8 * 64 * 64 * 4;  // Batch norm and Relu write over it.
  const std::uint64_t pooled = convolved / 4;       // The reshape is a view of it.
  EXPECT_EQ(peak_of(*recording), image + convolved + pooled);
  EXPECT_EQ(peak_of(*record_onnx(inference(6), model_of(tiny_detector()))),
            6 * (image + convolved + pooled));
}

TEST(OnnxEngine, weights_are_loaded_with_the_bytes_of_the_file) {
  const OnnxModel model = model_of(tiny_detector());
  const auto recording = record_onnx(inference(1), model);
  ASSERT_TRUE(recording);
  std::uint64_t weights = 0;
  for (const RecordedTensor& tensor : recording->tensors) {
    if (tensor.component == Component::weights) weights += tensor.meta.bytes();
  }
  EXPECT_EQ(weights, weights_of(model).bytes);
}

TEST(OnnxEngine, an_activation_does_not_overwrite_what_is_read_later) {
  OnnxParts parts;
  parts.inputs = {value_info("x", {1, 1000})};
  parts.weights = {weight("w", {1000, 1000})};
  parts.outputs = {value_info("z", {1, 1000})};
  parts.nodes = {node("MatMul", {"x", "w"}, {"m"}), node("Relu", {"m"}, {"r"}),
                 node("Add", {"m", "r"}, {"z"})};
  // x, m, r and z at once; without the later use of m, r would be m.
  EXPECT_EQ(peak_of(*record_onnx(inference(1), model_of(parts))), 4U * 4000);
  parts.nodes[2] = node("Add", {"r", "r"}, {"z"});
  EXPECT_EQ(peak_of(*record_onnx(inference(1), model_of(parts))), 3U * 4000);
}

TEST(OnnxEngine, a_graph_that_cannot_run_is_an_error) {
  OnnxParts parts;
  parts.inputs = {value_info("x", {1, 4})};
  parts.nodes = {node("Relu", {"y"}, {"z"}), node("Relu", {"x"}, {"y"})};
  const auto recording = record_onnx(inference(1), model_of(parts));
  ASSERT_FALSE(recording);
  EXPECT_THAT(recording.error().message, HasSubstr("expected its input y"));
  Job training;
  EXPECT_THAT(record_onnx(training, model_of(tiny_detector())).error().message,
              HasSubstr("run, not trained"));
}

TEST(OnnxEngine, replay_gives_the_peak_by_component) {
  const auto recording = record_onnx(inference(2), model_of(tiny_detector()));
  ASSERT_TRUE(recording);
  const auto policy = allocator::make_policy("exact");
  ASSERT_TRUE(policy) << policy.error().message;
  const Peak peak = replay(*recording, **policy);
  EXPECT_FALSE(peak.failed);
  EXPECT_EQ(peak.at, Phase::forward);
  EXPECT_EQ(peak.usage.live_at_peak[Component::activations], peak_of(*recording));
  EXPECT_EQ(recording->name_of(peak.live.front()), "head.weight");
}

}  // namespace
}  // namespace headroom::estimate
