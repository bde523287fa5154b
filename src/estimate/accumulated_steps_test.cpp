// SPDX-License-Identifier: Apache-2.0
// Steps that accumulate gradients, as the two engines run them, through headroom's allocator in
// little more memory than is live: once the step is planned, the device is left alone.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "allocator/models/make_policy.h"
#include "estimate/headroom_engine.h"
#include "estimate/models/architecture.h"
#include "estimate/step.h"
#include "estimate/transformers/engine.h"

namespace headroom::estimate {
namespace {

using Events = std::vector<Event>;

// Where the last micro-batch before events[end] begins: from there on nothing is freed that was
// there before, and everything that is made is freed.
std::size_t begin_of_last_micro_batch(const Events& events, std::size_t end) {
  std::set<std::uint32_t> freed;
  std::size_t begin = end;
  for (std::size_t i = end; i-- > 0;) {
    const Event& event = events[i];
    if (event.kind == Event::Kind::release) freed.insert(event.tensor);
    if (event.kind == Event::Kind::allocate && freed.erase(event.tensor) == 0) break;
    if (freed.empty()) begin = i;
  }
  return begin;
}

// One optimizer step after the other, with more micro-batches than the two that are recorded.
class Steps {
 public:
  Steps(const Recording& recording, int micro_batches) : recording_(recording) {
    for (std::size_t i = 0; i < recording.events.size(); ++i) {
      const bool ends = i > 0 && recording.events[i - 1].phase == Phase::backward &&
                        recording.events[i].phase == Phase::optimizer;
      if (ends) repeat_last_micro_batch(micro_batches - 2);
      const bool begins = i > 0 && recording.events[i - 1].phase == Phase::optimizer &&
                          recording.events[i].phase != Phase::optimizer;
      if (begins) begins_.push_back(events_.size());
      events_.push_back(recording.events[i]);
    }
  }

  // How often each step but the last called the device; nothing if a request was refused.
  std::optional<std::vector<std::uint64_t>> device_calls(allocator::Policy& policy) const {
    std::vector<std::uint64_t> calls;
    std::unordered_map<std::uint32_t, allocator::Address> addresses;
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if (calls.size() < begins_.size() && begins_[calls.size()] == i) {
        calls.push_back(policy.usage().device_calls - before);
        before = policy.usage().device_calls;
      }
      const Event& event = events_[i];
      if (event.kind == Event::Kind::release) policy.free(addresses.at(event.tensor));
      if (event.kind != Event::Kind::allocate) continue;
      const auto address = policy.allocate({.bytes = recording_.tensors[event.tensor].bytes});
      if (!address) return std::nullopt;
      addresses[event.tensor] = *address;
    }
    return calls;
  }

 private:
  void repeat_last_micro_batch(int times) {
    const std::size_t end = events_.size();
    const std::size_t begin = begin_of_last_micro_batch(events_, end);
    EXPECT_GT(end - begin, 200U) << "a whole micro-batch";
    for (int k = 0; k < times; ++k) {
      for (std::size_t i = begin; i < end; ++i) events_.push_back(events_[i]);
    }
  }

  const Recording& recording_;
  Events events_;
  std::vector<std::size_t> begins_;
};

// In the least memory that it finishes in, to a per cent, and one more: so small a job has a few
// per cent of its memory in rounding.
std::optional<std::vector<std::uint64_t>> calls_in_little_memory(const Steps& steps,
                                                                 const std::string& policy) {
  const auto exact = *allocator::make_policy("exact");
  steps.device_calls(*exact);
  const std::uint64_t percent = exact->usage().live_peak_bytes / 100;
  for (std::uint64_t more = 0; more <= 20; ++more) {
    const auto least = *allocator::make_policy(policy, (100 + more) * percent);
    if (!steps.device_calls(*least)) continue;
    return steps.device_calls(**allocator::make_policy(policy, (103 + more) * percent));
  }
  return std::nullopt;
}

void expect_quiet(const Recording& recording, const std::string& what) {
  for (const int micro_batches : {2, 4, 8}) {
    const Steps steps(recording, micro_batches);
    for (const std::string policy : {"headroom", "headroom-no-vmm"}) {
      const auto calls = calls_in_little_memory(steps, policy);
      ASSERT_TRUE(calls.has_value())
          << what << ", " << policy << ", " << micro_batches << " micro-batches";
      ASSERT_GE(calls->size(), 9U);
      for (std::size_t step = 5; step < calls->size(); ++step)
        EXPECT_EQ((*calls)[step], 0U)
            << what << ", " << policy << ", " << micro_batches << " micro-batches, step " << step;
    }
  }
}

ModelConfig small_llama() {
  ModelConfig config;
  config.family = "llama";
  config.hidden = 1024;
  config.intermediate = 2816;
  config.layers = 6;
  config.heads = config.kv_heads = 8;
  config.head_dim = 128;
  config.vocabulary = 16000;
  return config;
}

Job accumulating_job(MethodKind kind) {
  Job job;
  job.method.kind = kind;
  job.batch.micro = 4;
  job.batch.sequence = 512;
  job.batch.accumulate = 2;
  return job;
}

TEST(AccumulatedSteps, transformers_leaves_the_device_alone) {
  for (const MethodKind kind : {MethodKind::full, MethodKind::lora}) {
    for (const bool foreach : {true, false}) {
      Job job = accumulating_job(kind);
      job.compute.attention = Attention::flash;
      job.optimizer.foreach = foreach;
      const auto recording = record_transformers(job, architecture_of(small_llama()), Device{}, 10);
      ASSERT_TRUE(recording.has_value());
      expect_quiet(*recording, kind == MethodKind::full ? "full" : "lora");
    }
  }
}

TEST(AccumulatedSteps, headroom_train_leaves_the_device_alone) {
  for (const MethodKind kind : {MethodKind::full, MethodKind::lora}) {
    for (const auto checkpointing : {Checkpointing::none, Checkpointing::layer}) {
      Job job = accumulating_job(kind);
      job.compute.attention = Attention::efficient;
      job.compute.checkpointing = checkpointing;
      expect_quiet(record_headroom(job, small_llama(), 10),
                   kind == MethodKind::full ? "full" : "lora");
    }
  }
}

}  // namespace
}  // namespace headroom::estimate
