// SPDX-License-Identifier: Apache-2.0
// Virtual memory is earned: whether a backend's reserve, create, map, allow_access and unmap work
// here, and lose no byte. Drivers exist that report success and lose stores, or hand out zeros for
// live data, so every step writes patterns and reads them back; nothing is concluded from a
// version. What passes is also measured: settle time, costs, what destroying a page gives back.
//
// Runs within the limits; a driver that never returns must be watched from outside
// (backends/self_test_watch.h). docs/decisions/0008-virtual-memory-is-earned.md says why.
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

// What the test needs beside a Backend: the contents of memory that the CPU may not be able to
// touch, and the time. Each call is done when it returns.
class DeviceAccess {
 public:
  DeviceAccess() = default;
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
  virtual ~DeviceAccess() = default;

  virtual Status write(std::uint64_t address, std::span<const std::uint64_t> words) = 0;
  virtual Status read(std::uint64_t address, std::span<std::uint64_t> words) = 0;
  // By the device itself.
  virtual Status fill(std::uint64_t address, std::uint64_t bytes, std::uint32_t word) = 0;
  virtual Status copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) = 0;

  // What the device says is free; nothing where it says nothing that can be relied on.
  virtual std::optional<std::uint64_t> free_bytes() = 0;

  virtual std::uint64_t now_ns() = 0;
  virtual void pause(std::uint64_t ns) = 0;
};

struct SelfTestLimits {
  std::uint64_t max_ns = 2'000'000'000;  // The longest step ends then, if it has done enough.
  std::uint32_t pages = 48;              // At once, of 2 MiB; a multiple of 4, at least 24.
  std::uint32_t cycles = 400;            // Of mapping and unmapping beside live data.
  // Settle time that is kept even where no loss was seen: losses are rare on an idle device.
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
  std::vector<SelfTestStep> steps;  // In order; the last is the one that failed, if one did.
  Capabilities measured;            // virtual_memory says what `passed` says.
};

// Raised when the steps or their thresholds change, so that older results are not relied on.
inline constexpr int self_test_version = 2;

// `on_step` is told each step's name before it begins. The backend must be fresh and is left with
// nothing mapped if all steps passed; after a failure destroy it.
SelfTestReport run_self_test(Backend& backend, DeviceAccess& device, const SelfTestLimits& limits,
                             const std::function<void(std::string_view)>& on_step = {});

// For people: a line per step, and what was measured.
std::string to_text(const SelfTestReport& report);

}  // namespace headroom::allocator
