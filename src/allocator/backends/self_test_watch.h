// SPDX-License-Identifier: Apache-2.0
// Runs the self-test in a child process that is watched, because drivers were reported that hang in
// a map (pytorch/pytorch#192259) or end the process (ROCm/hip#3763).
//
// A thread would not do: one that hangs in a driver can neither be ended nor abandoned, since it
// may hold the driver's lock, and a memory fault of the GPU ends the whole process. The child opens
// the driver itself, and everything it holds is gone when it ends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "allocator/self_test/self_test.h"
#include "base/result.h"

namespace headroom::allocator {

struct SelfTestSubject {
  std::unique_ptr<Backend> backend;
  std::unique_ptr<DeviceAccess> access;
};

// `open` is called in the child. If a step hangs or ends the child, the report says that this step
// failed. Fails if nothing could be tested, with the error of `open` or of starting the child.
// Requires: this process has one thread and has not used the GPU yet, or else the driver refuses to
// work in the child.
Result<SelfTestReport> run_watched_self_test(const std::function<Result<SelfTestSubject>()>& open,
                                             const SelfTestLimits& limits,
                                             std::uint64_t timeout_ms);

// HIP was seen to lose stores for up to 2 ms after mapping, on busy GPUs (ROCm/rocm-systems#11693).
// The test runs on an idle GPU, so this settle time is kept even if it sees no loss.
inline constexpr SelfTestLimits hip_self_test_limits = {.least_settle_ns = 4'000'000};

// Open what is to be tested: virtual memory without a verdict, on one GPU or on the host.
Result<SelfTestSubject> open_hip_subject(int device);
Result<SelfTestSubject> open_cuda_subject(int device);
Result<SelfTestSubject> open_host_subject();

}  // namespace headroom::allocator
