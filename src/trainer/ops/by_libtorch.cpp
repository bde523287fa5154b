// SPDX-License-Identifier: Apache-2.0
#include "trainer/ops/by_libtorch.h"

#include <atomic>

namespace headroom::trainer::ops {
namespace {

std::atomic<int>& asked_for() {
  static std::atomic<int> count = 0;
  return count;
}

}  // namespace

bool is_by_libtorch(const at::Device& device) {
  return !device.is_cpu() || asked_for().load(std::memory_order_relaxed) > 0;
}

WithoutKernels::WithoutKernels() {
  ++asked_for();
}
WithoutKernels::~WithoutKernels() {
  --asked_for();
}

}  // namespace headroom::trainer::ops
