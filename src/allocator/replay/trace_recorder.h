// SPDX-License-Identifier: Apache-2.0
// Records what is asked of a policy as a trace, while the policy answers. What could not be
// allocated is not in the trace, nor is a retag: the format has no event for either.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>

#include "allocator/policy.h"
#include "base/mutex.h"

namespace headroom::allocator {

// As thread-safe as the policy: the recorder has a lock of its own and holds it while the policy
// answers, so that the trace has the order in which the policy saw the events.
class TraceRecorder final : public Policy {
 public:
  // Gets whole lines, with their ends. Called under the recorder's lock; must not use the policy.
  using Sink = std::function<void(std::string_view line)>;

  // `policy` outlives the recorder and had no live blocks when the recorder was made.
  TraceRecorder(Policy& policy, Sink sink) : policy_(&policy), sink_(std::move(sink)) {}

  std::optional<Address> allocate(const Request& request) override;
  void free(Address address) override;
  void retag(Address address, Component tag) override;
  void synchronize(StreamId stream) override;
  const Usage& usage() const override { return policy_->usage(); }
  std::string_view name() const override { return policy_->name(); }

 private:
  Policy* policy_;
  Mutex mutex_;
  Sink sink_ HEADROOM_GUARDED_BY(mutex_);
  std::uint64_t next_id_ HEADROOM_GUARDED_BY(mutex_) = 1;
  std::unordered_map<Address, std::uint64_t> ids_ HEADROOM_GUARDED_BY(mutex_);
};

}  // namespace headroom::allocator
