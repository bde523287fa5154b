// SPDX-License-Identifier: Apache-2.0
#include "estimate/diffusion/stages.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "allocator/models/make_policy.h"
#include "estimate/step.h"

namespace headroom::estimate::diffusion {
namespace {

Stage stage_of(Phase phase) {
  for (const Stage stage : all_stages)
    if (phase_of(stage) == phase) return stage;
  return Stage::load;
}

class Replay {
 public:
  Replay(const Recording& recording, std::string policy, std::uint64_t capacity)
      : recording_(recording),
        policy_name_(std::move(policy)),
        capacity_(capacity),
        addresses_(recording.tensors.size()),
        live_(recording.tensors.size()) {}

  Result<StagePeaks> run() {
    HEADROOM_TRY(policy_, allocator::make_policy(policy_name_, capacity_));
    for (std::size_t i = 0; i < recording_.events.size() && !peaks_.failed; ++i) {
      const Event& event = recording_.events[i];
      note(event.phase, i);  // A stage begins with what the one before it left.
      if (event.kind == Event::Kind::allocate) HEADROOM_CHECK(allocate(event));
      if (event.kind == Event::Kind::release) release(event.tensor);
      note(event.phase, i);
    }
    peaks_.usage = policy_->usage();
    peaks_.usage.live_peak_bytes = most_;
    peaks_.usage.reserved_peak_bytes = std::max(reserved_peak_, peaks_.usage.reserved_peak_bytes);
    peaks_.live = live_after(recording_, at_);
    return std::move(peaks_);
  }

 private:
  void note(Phase phase, std::size_t event) {
    const std::uint64_t live = policy_->usage().live_bytes;
    const Stage stage = stage_of(phase);
    std::uint64_t& peak = peaks_.bytes[static_cast<std::size_t>(stage)];
    peak = std::max(peak, live);
    if (live <= most_) return;
    most_ = live;
    at_ = event;
    peaks_.at = stage;
  }

  Status allocate(const Event& event) {
    if (recording_.tensors[event.tensor].bytes == 0) return empty_cache();
    take(event.tensor, event.component);
    return Done{};
  }

  void take(std::uint32_t tensor, Component component) {
    const auto address = policy_->allocate({recording_.tensors[tensor].bytes, component, 0});
    if (!address) {
      if (!peaks_.failed) peaks_.failed = tensor;
      return;
    }
    addresses_[tensor] = *address;
    live_[tensor] = 1;
  }

  void release(std::uint32_t tensor) {
    if (live_[tensor] == 0) return;
    policy_->free(addresses_[tensor]);
    live_[tensor] = 0;
  }

  Status empty_cache() {
    reserved_peak_ = std::max(reserved_peak_, policy_->usage().reserved_peak_bytes);
    HEADROOM_TRY(policy_, allocator::make_policy(policy_name_, capacity_));
    for (std::uint32_t tensor = 0; tensor < live_.size(); ++tensor)
      if (live_[tensor] != 0) take(tensor, recording_.tensors[tensor].component);
    return Done{};
  }

  const Recording& recording_;
  std::string policy_name_;
  std::uint64_t capacity_;
  std::unique_ptr<allocator::Policy> policy_;
  std::vector<allocator::Address> addresses_;
  std::vector<std::uint8_t> live_;
  StagePeaks peaks_;
  std::uint64_t most_ = 0;
  std::uint64_t reserved_peak_ = 0;
  std::size_t at_ = 0;
};

}  // namespace

void mark_emptied_cache(Tape& tape) {
  const Tensor mark = tape.empty("empty_cache", {{0}, Element::uint8}, Component::other);
}

Result<StagePeaks> replay_stages(const Recording& recording, const std::string& policy,
                                 std::optional<std::uint64_t> capacity) {
  return Replay(recording, policy, capacity.value_or(allocator::unlimited_capacity_bytes)).run();
}

}  // namespace headroom::estimate::diffusion
