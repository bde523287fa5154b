// SPDX-License-Identifier: Apache-2.0
#include "estimate/steady_reserved.h"

#include <algorithm>
#include <vector>

#include "base/require.h"

namespace headroom::estimate {
namespace {

struct Slice {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::uint32_t first_tensor = 0;  // That is born in it.
};

// The events of the last step: from its first forward to the last thing that it makes.
std::optional<Slice> last_step(const Recording& recording) {
  const auto& events = recording.events;
  Slice slice;
  for (std::size_t i = 1; i < events.size(); ++i) {
    if (events[i].phase == Phase::forward && events[i - 1].phase == Phase::optimizer)
      slice.begin = i;
  }
  if (slice.begin == 0) return std::nullopt;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].kind != Event::Kind::allocate) continue;
    if (i < slice.begin) slice.first_tensor = std::max(slice.first_tensor, events[i].tensor + 1);
    slice.end = i + 1;
  }
  return slice;
}

class Runner {
 public:
  Runner(const Recording& recording, allocator::Policy& policy)
      : recording_(recording), policy_(policy), addresses_(recording.tensors.size()) {}

  // Whether everything fitted; `most` is the largest of what was reserved.
  bool run(const Slice& slice, std::uint64_t& most) {
    for (std::size_t i = slice.begin; i < slice.end; ++i) {
      const Event& event = recording_.events[i];
      allocator::Address& address = addresses_[event.tensor];
      if (event.kind == Event::Kind::retag) continue;
      if (event.kind == Event::Kind::release) {
        release(address);
        continue;
      }
      const auto made =
          policy_.allocate({recording_.tensors[event.tensor].meta.bytes(), event.component, 0});
      if (!made) return false;
      address = *made;
      most = std::max(most, policy_.usage().reserved_bytes);
    }
    return true;
  }

  // What a step has left of its own.
  void release_from(std::uint32_t tensor) {
    for (std::size_t i = tensor; i < addresses_.size(); ++i) release(addresses_[i]);
  }

 private:
  void release(allocator::Address& address) {
    if (address != 0) policy_.free(address);
    address = 0;
  }

  const Recording& recording_;
  allocator::Policy& policy_;
  std::vector<allocator::Address> addresses_;
};

}  // namespace

std::optional<std::uint64_t> steady_reserved_bytes(const Recording& recording,
                                                   allocator::Policy& policy) {
  require(policy.usage().live_bytes == 0, "nothing lives in the policy before the recording");
  const auto step = last_step(recording);
  if (!step) return std::nullopt;
  Runner runner(recording, policy);
  std::uint64_t most = 0;
  if (!runner.run({0, step->end, 0}, most)) return std::nullopt;
  runner.release_from(step->first_tensor);
  most = 0;
  if (!runner.run(*step, most)) return std::nullopt;
  return most;
}

}  // namespace headroom::estimate
