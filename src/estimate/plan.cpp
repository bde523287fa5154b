// SPDX-License-Identifier: Apache-2.0
#include "estimate/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "allocator/make_policy.h"
#include "base/bytes.h"
#include "estimate/search.h"
#include "estimate/step.h"

namespace headroom::estimate {
namespace {

constexpr std::size_t largest_max = 10;

struct Replays {
  Recording recording;
  Peak unhindered;             // With plentiful memory.
  std::optional<Peak> capped;  // Within the capacity, if there is one.

  bool fits() const { return capped && !capped->failed; }
};

class Planner {
 public:
  Planner(const Architecture& model, const Device& device) : model_(model), device_(device) {}

  Result<Replays> run(const Job& job) const {
    Replays replays;
    HEADROOM_TRY(replays.recording, record_step(job, model_, device_));
    HEADROOM_TRY(auto policy, allocator::make_policy(job.device.allocator));
    replays.unhindered = replay(replays.recording, *policy);
    if (device_.capacity) {
      HEADROOM_TRY(replays.capped, replay_capped(job, replays.recording));
    }
    return replays;
  }

  Result<Fit> fit(const Job& job) const {
    if (!device_.capacity) return Fit{};
    HEADROOM_TRY(const Recording recording, record_step(job, model_, device_));
    HEADROOM_TRY(const Peak capped, replay_capped(job, recording));
    return Fit{!capped.failed, capped.usage.live_peak_bytes};
  }

  Plan describe(const Job& job, const Replays& replays) const {
    const Peak& peak = replays.unhindered;
    Plan plan;
    plan.job = job;
    plan.allocated_bytes = peak.usage.live_peak_bytes;
    plan.reserved_bytes = (replays.fits() ? *replays.capped : peak).usage.reserved_peak_bytes;
    plan.device_bytes = plan.reserved_bytes + device_.context.value;
    plan.at = peak.at;
    plan.components = peak.usage.live_at_peak;
    if (device_.capacity) {
      plan.capacity_bytes = device_.capacity->value;
      plan.fits = replays.fits();
      if (replays.capped->failed)
        plan.first_failure = replays.recording.describe(*replays.capped->failed);
    }
    for (std::size_t i = 0; i < std::min(largest_max, peak.live.size()); ++i) {
      plan.largest.push_back(replays.recording.describe(peak.live[i]));
    }
    count_parameters(replays.recording, plan);
    return plan;
  }

 private:
  // Requires: there is a capacity.
  Result<Peak> replay_capped(const Job& job, const Recording& recording) const {
    const Bytes left = saturating_sub(*device_.capacity, device_.context);
    HEADROOM_TRY(auto policy, allocator::make_policy(job.device.allocator, left.value));
    return replay(recording, *policy);
  }

  static void count_parameters(const Recording& recording, Plan& plan) {
    const bool full = plan.job.method.kind == MethodKind::full;
    std::uint64_t trainable_bytes = 0;
    for (const RecordedTensor& tensor : recording.tensors) {
      const bool base = tensor.component == Component::weights;
      if (!base && tensor.component != Component::adapters) continue;
      plan.parameters += tensor.meta.elements();
      plan.weights_bytes += tensor.meta.bytes();
      if (base != full) continue;
      plan.trainable_parameters += tensor.meta.elements();
      trainable_bytes += tensor.meta.bytes();
    }
    // AdamW holds two moments in the parameter's own type.
    plan.training_state_bytes = plan.weights_bytes + 3 * trainable_bytes;
  }

  const Architecture& model_;
  const Device& device_;
};

// For a job beyond every device (allocator/make_policy.h), of which there is nothing to be said.
Error too_large(const TensorRecord& tensor) {
  const std::string found = tensor.meta.bytes() > allocator::unlimited_capacity_bytes
                                ? fmt::format("one whose tensor {} alone is larger", tensor.name)
                                : fmt::format("one in which {} of {} no longer fits", tensor.name,
                                              to_string(Bytes{tensor.meta.bytes()}));
  return {Errc::unsupported,
          fmt::format("expected a job of at most {}, found {}",
                      to_string(Bytes{allocator::unlimited_capacity_bytes}), found),
          "lower batch.micro or batch.sequence, or correct the model's shape"};
}

}  // namespace

Job apply(Job job, const Change& change) {
  if (change.micro) job.batch.micro = change.micro;
  if (change.accumulate) job.batch.accumulate = change.accumulate;
  if (change.checkpointing) job.compute.checkpointing = *change.checkpointing;
  if (change.attention) job.compute.attention = change.attention;
  if (change.loss) job.compute.loss = *change.loss;
  return job;
}

Result<Plan> make_plan(const Job& given, const Architecture& model, const Device& device) {
  const Planner planner(model, device);
  const TryJob try_job = [&planner](const Job& job) { return planner.fit(job); };
  Job job = given;
  if (!job.compute.attention) job.compute.attention = device.attention;
  if (*job.compute.attention == Attention::flash && job.compute.dtype == DType::fp32) {
    job.compute.attention = Attention::efficient;  // FlashAttention has no fp32 kernel.
  }
  if (!job.batch.micro || !job.batch.accumulate) {
    HEADROOM_TRY(job, choose_batch(std::move(job), try_job));
  }
  HEADROOM_TRY(const Replays replays, planner.run(job));
  if (replays.unhindered.failed)
    return too_large(replays.recording.describe(*replays.unhindered.failed));
  Plan plan = planner.describe(job, replays);
  if (plan.fits == false) {
    HEADROOM_TRY(plan.advice, find_advice(job, model, try_job));
  }
  return plan;
}

}  // namespace headroom::estimate
