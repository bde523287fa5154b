// SPDX-License-Identifier: Apache-2.0
#include "allocator/replay/replay_history.h"

#include <unordered_map>

namespace headroom::allocator {
namespace {

// Stands between a replay and its policy, and records what passes.
class Watcher final : public Policy {
 public:
  explicit Watcher(Policy& policy) : policy_(&policy) {}

  std::optional<Address> allocate(const Request& request) override {
    const std::uint64_t before = policy_->usage().live_bytes;
    const auto address = policy_->allocate(request);
    if (address) {
      live_[*address] = history_.blocks.size();
      history_.blocks.push_back({*address, policy_->usage().live_bytes - before, request.bytes,
                                 history_.held.size(), BlockLife::never, request.stream,
                                 request.tag});
    }
    note();
    return address;
  }
  void free(Address address) override {
    policy_->free(address);
    const auto block = live_.find(address);
    if (block != live_.end()) {
      history_.blocks[block->second].end = history_.held.size();
      live_.erase(block);
    }
    note();
  }
  void retag(Address address, Component tag) override { policy_->retag(address, tag); }
  void synchronize(StreamId stream) override {
    policy_->synchronize(stream);
    note();
  }
  const Usage& usage() const override { return policy_->usage(); }
  std::string_view name() const override { return policy_->name(); }

  ReplayHistory take() { return std::move(history_); }

 private:
  void note() {
    const Usage& usage = policy_->usage();
    history_.held.push_back({usage.live_bytes, usage.reserved_bytes});
  }

  Policy* policy_;
  ReplayHistory history_;
  std::unordered_map<Address, std::size_t> live_;
};

}  // namespace

ReplayHistory replay_with_history(const Trace& trace, Policy& policy) {
  Watcher watcher(policy);
  ReplayResult result = replay(trace, watcher);
  ReplayHistory history = watcher.take();
  history.result = result;
  return history;
}

}  // namespace headroom::allocator
