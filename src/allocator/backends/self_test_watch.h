// SPDX-License-Identifier: Apache-2.0
// The self-test with somebody to watch it, because drivers were reported that hang in a map
// (pytorch/pytorch#192259) and that end the process (ROCm/hip#3763).
//
// It runs in a child process and not in a thread: a thread that hangs in a driver can neither be
// ended nor abandoned, since it may hold the driver's lock, and a memory fault of the GPU ends the
// whole process. The child opens the driver itself and takes everything with it when it ends.
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

// `open` is called in the child. A test that hangs or ends the child is a report that failed in
// that step. Fails where nothing could be tested: with what `open` failed with, or what starting a
// process did. Requires: this process has one thread and has not used the GPU yet, or else the
// driver refuses to work in the child.
Result<SelfTestReport> run_watched_self_test(const std::function<Result<SelfTestSubject>()>& open,
                                             const SelfTestLimits& limits,
                                             std::uint64_t timeout_ms);

// HIP's losses after mapping were seen on busy GPUs, up to 2 ms (ROCm/rocm-systems#11693), and the
// test runs on an idle one: so much is kept where it sees none.
inline constexpr SelfTestLimits hip_self_test_limits = {.least_settle_ns = 4'000'000};

// Subjects: virtual memory on trial, on one GPU or on the host's memory.
Result<SelfTestSubject> open_hip_subject(int device);
Result<SelfTestSubject> open_cuda_subject(int device);
Result<SelfTestSubject> open_host_subject();

}  // namespace headroom::allocator
