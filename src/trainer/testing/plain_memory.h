// SPDX-License-Identifier: Apache-2.0
// A policy over malloc for tests: it has a capacity, counts by component, and writes down every
// request, so that a test can look at the order of allocations.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/policy.h"
#include "base/bytes.h"

namespace headroom::trainer::testing {

class PlainMemory final : public allocator::Policy {
 public:
  explicit PlainMemory(Bytes capacity = {std::uint64_t{1} << 40U}) : capacity_(capacity) {}

  std::optional<allocator::Address> allocate(const allocator::Request& request) override {
    const std::uint64_t bytes = round_up(std::max<std::uint64_t>(request.bytes, 1), 512);
    if (usage_.live_bytes + bytes > capacity_.value) return std::nullopt;
    const auto address = reinterpret_cast<allocator::Address>(std::aligned_alloc(512, bytes));
    blocks_[address] = {bytes, request.tag};
    events_.push_back(fmt::format("{} {}", request.bytes, to_string(request.tag)));
    usage_.live_bytes += bytes;
    usage_.live[request.tag] += bytes;
    if (usage_.live_bytes > usage_.live_peak_bytes) {
      usage_.live_peak_bytes = usage_.live_bytes;
      usage_.live_at_peak = usage_.live;
    }
    usage_.reserved_bytes = usage_.live_bytes;
    usage_.reserved_peak_bytes = usage_.live_peak_bytes;
    return address;
  }

  void free(allocator::Address address) override {
    const Block block = blocks_.at(address);
    usage_.live_bytes -= block.bytes;
    usage_.live[block.tag] -= block.bytes;
    blocks_.erase(address);
    events_.emplace_back("free");
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    std::free(reinterpret_cast<void*>(address));
  }

  void retag(allocator::Address address, allocator::Component tag) override {
    Block& block = blocks_.at(address);
    usage_.live[block.tag] -= block.bytes;
    usage_.live[tag] += block.bytes;
    block.tag = tag;
  }

  void synchronize(allocator::StreamId) override {}
  const allocator::Usage& usage() const override { return usage_; }
  std::string_view name() const override { return "plain"; }

  // "BYTES TAG" for an allocation, "free" for a free, since the last call.
  std::vector<std::string> take_events() { return std::exchange(events_, {}); }

 private:
  struct Block {
    std::uint64_t bytes = 0;
    allocator::Component tag{};
  };
  Bytes capacity_;
  std::map<allocator::Address, Block> blocks_;
  std::vector<std::string> events_;
  allocator::Usage usage_;
};

}  // namespace headroom::trainer::testing
