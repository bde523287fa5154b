// SPDX-License-Identifier: Apache-2.0
// The steps of the self-test, in order. A step returns what it found, or fails with it. Each step
// tests for a fault that was reported of real drivers.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "allocator/self_test/self_test_bench.h"

namespace headroom::allocator {

struct SelfTestStepKind {
  std::string_view name;
  std::string_view expected;
  Result<std::string> (*run)(SelfTestBench& bench, Capabilities& measured);
};

std::span<const SelfTestStepKind> self_test_steps();

}  // namespace headroom::allocator
