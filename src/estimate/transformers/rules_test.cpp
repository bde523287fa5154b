// SPDX-License-Identifier: Apache-2.0
// Rules of PyTorch and transformers that show in what one small job allocates. Each was found, and
// checked, against real runs on a GPU that only counts.
#include <gtest/gtest.h>

#include "base/document.h"
#include "estimate/transformers/engine.h"

namespace headroom::estimate {
namespace {

constexpr std::uint64_t batch = 2, sequence = 32;

Architecture model_of(const Json& config) {
  auto model = parse_architecture(config);
  EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().message);
  return model ? *std::move(model) : Architecture{};
}

Json gpt2() {
  return {{"model_type", "gpt2"}, {"vocab_size", 500}, {"n_embd", 64},
          {"n_layer", 1},         {"n_head", 4},       {"n_positions", 64}};
}

Job base_job() {
  Job job;
  job.batch.micro = batch;
  job.batch.sequence = sequence;
  job.compute.attention = Attention::flash;
  return job;
}

Recording recorded(const Job& job, const Json& config, const Device& device = {}) {
  auto made = record_transformers(job, model_of(config), device, 1);
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
  return made ? *std::move(made) : Recording{};
}

// Those whose name ends in `end`.
std::vector<Meta> tensors(const Recording& recording, const std::string& end) {
  std::vector<Meta> found;
  for (std::uint32_t i = 0; i < recording.tensors.size(); ++i)
    if (recording.name_of(i).ends_with(end)) found.push_back(recording.tensors[i].meta);
  return found;
}

TEST(Rules, handles_keep_a_workspace_on_rocm_and_in_older_pytorch) {
  Device device;
  device.blas_workspace = 8320_KiB;
  const auto workspaces = [&](const char* torch, const char* transformers) {
    Job job = base_job();
    job.engine.torch = torch;
    job.engine.transformers = transformers;
    const Recording recording = recorded(job, gpt2(), device);
    const auto kept = tensors(recording, "blas_workspace").size();
    const bool passing = !tensors(recording, "product_workspace").empty();
    return std::pair(kept, passing);
  };
  EXPECT_EQ(workspaces("newest", "newest"), std::pair(2UL, false));  // AMD.
  device.vendor = knowledge::Vendor::nvidia;
  EXPECT_EQ(workspaces("newest", "newest"), std::pair(0UL, true));
  EXPECT_EQ(workspaces("2.15.0+cu132", "4.48"), std::pair(0UL, true));
  EXPECT_EQ(workspaces("2.14", "newest"), std::pair(2UL, false));
  EXPECT_EQ(workspaces("newest", "4.48"), std::pair(2UL, false));  // A PyTorch of its time.
}

// torch.pow is one of autocast's fp32 operations: all that follows it in gelu_new is as wide.
TEST(Rules, gelu_new_is_fp32_under_autocast) {
  Job job = base_job();
  job.method.base = WeightFormat::fp32;
  const auto outputs = [&] { return tensors(recorded(job, gpt2()), "gelu_new.output"); };
  ASSERT_EQ(outputs().size(), 1U);
  job.compute.autocast = true;
  EXPECT_EQ(outputs().front().element, Element::fp32);
  job.method.base = WeightFormat::bf16;
  job.compute.autocast = false;
  EXPECT_EQ(outputs().front().element, Element::bf16);
}

}  // namespace
}  // namespace headroom::estimate
