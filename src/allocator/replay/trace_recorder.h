// SPDX-License-Identifier: Apache-2.0
// Passes requests on to a policy and records them as a trace. Failed allocations and retags are
// left out: the format has no event for either.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>

#include "allocator/policy.h"
#include "base/mutex.h"

namespace headroom::allocator {

// The recorder is thread-safe if the policy is. It has a lock of its own and holds it while the
// policy answers, so that the trace has the order in which the policy saw the events.
class TraceRecorder final : public Policy {
 public:
  // Receives whole lines, with their ends. It is called under the recorder's lock and must not use
  // the policy.
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
