// SPDX-License-Identifier: Apache-2.0
// Tests whether a backend's reserve, create, map, allow_access and unmap work on this machine
// without losing a byte. Some drivers report success and lose stores, or return zeros for live
// data, so every step writes patterns and reads them back; nothing is concluded from a version. The
// test also measures how long memory takes to settle, what calls cost, and whether destroying a
// page gives its memory back.
//
// A driver that never returns must be watched from outside (backends/self_test_watch.h).
// docs/decisions/0008-virtual-memory-is-earned.md says why.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/backend.h"
#include "base/result.h"

namespace headroom::allocator {

// What the test needs besides a Backend: access to memory that the CPU may not be able to touch,
// and a clock. Each call has finished its work when it returns.
class DeviceAccess {
 public:
  DeviceAccess() = default;
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
  virtual ~DeviceAccess() = default;

  virtual Status write(std::uint64_t address, std::span<const std::uint64_t> words) = 0;
  virtual Status read(std::uint64_t address, std::span<std::uint64_t> words) = 0;
  // The device itself does the fill.
  virtual Status fill(std::uint64_t address, std::uint64_t bytes, std::uint32_t word) = 0;
  virtual Status copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) = 0;

  // How much the device says is free; nothing if its answer cannot be relied on.
  virtual std::optional<std::uint64_t> free_bytes() = 0;

  virtual std::uint64_t now_ns() = 0;
  virtual void pause(std::uint64_t ns) = 0;
};

struct SelfTestLimits {
  std::uint64_t max_ns = 2'000'000'000;  // The longest step ends after this if it has done enough.
  std::uint32_t pages = 48;              // 2 MiB pages used at once; a multiple of 4, at least 24.
  std::uint32_t cycles = 400;            // Rounds of mapping and unmapping beside live data.
  // The settle time is at least this even if no loss was seen, since losses are rare on an idle
  // device.
  std::uint64_t least_settle_ns = 0;
};

struct SelfTestStep {
  std::string name;
  std::string expected;
  std::string found;
  bool passed = false;
  // By the device's clock; nothing of a step that did not end.
  std::optional<std::uint64_t> took_ns = std::nullopt;

  bool operator==(const SelfTestStep&) const = default;
};

struct SelfTestReport {
  bool passed = false;
  std::vector<SelfTestStep> steps;  // In order; if a step failed, it is the last.
  Capabilities measured;            // Its virtual_memory equals `passed`.
};

// Is raised when the steps or their thresholds change, so that older results are not relied on.
inline constexpr int self_test_version = 2;

// `on_step` is called with each step's name before the step begins. The backend must be fresh. If
// all steps pass, nothing is mapped at the end; after a failure, destroy the backend.
SelfTestReport run_self_test(Backend& backend, DeviceAccess& device, const SelfTestLimits& limits,
                             const std::function<void(std::string_view)>& on_step = {});

// The report for people: a line for each step, and what was measured.
std::string to_text(const SelfTestReport& report);

}  // namespace headroom::allocator
