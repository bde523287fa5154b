// SPDX-License-Identifier: Apache-2.0
// Keeps a Usage up to date: the bookkeeping that every policy shares.
#pragma once

#include <algorithm>
#include <cstdint>

#include "allocator/policy.h"

namespace headroom::allocator {

class UsageTracker {
 public:
  void add_live(Component tag, std::uint64_t bytes) {
    usage_.live[tag] += bytes;
    usage_.live_bytes += bytes;
    if (usage_.live_bytes <= usage_.live_peak_bytes) return;
    usage_.live_peak_bytes = usage_.live_bytes;
    usage_.live_at_peak = usage_.live;
  }
  void remove_live(Component tag, std::uint64_t bytes) {
    usage_.live[tag] -= bytes;
    usage_.live_bytes -= bytes;
  }
  void move_live(Component from, Component to, std::uint64_t bytes) {
    usage_.live[from] -= bytes;
    usage_.live[to] += bytes;
  }
  void reset_peak() {
    usage_.live_peak_bytes = usage_.live_bytes;
    usage_.live_at_peak = usage_.live;
  }
  void set_reserved(std::uint64_t bytes) {
    usage_.reserved_bytes = bytes;
    usage_.reserved_peak_bytes = std::max(usage_.reserved_peak_bytes, bytes);
  }
  void set_device_calls(std::uint64_t calls, std::uint64_t ns) {
    usage_.device_calls = calls;
    usage_.device_ns = ns;
  }

  const Usage& usage() const { return usage_; }

 private:
  Usage usage_;
};

}  // namespace headroom::allocator
