// SPDX-License-Identifier: Apache-2.0
// The self-test of virtual memory on this machine:   gpu_self_test hip|cuda|host [DEVICE]
// Exit 0: passed; 1: refused; 77: nothing to test here, with the reason.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "allocator/backends/self_test_watch.h"

int main(int argc, char** argv) {
  using namespace headroom;
  const std::string kind = argc > 1 ? argv[1] : "";
  const int device = argc > 2 ? std::atoi(argv[2]) : 0;
  if (kind != "hip" && kind != "cuda" && kind != "host") {
    std::fputs("gpu_self_test: expected hip, cuda or host, and a device's number\n", stderr);
    return 2;
  }
  const auto limits = kind == "hip" ? allocator::hip_self_test_limits : allocator::SelfTestLimits{};
  const auto open = [&] {
    return kind == "hip"    ? allocator::open_hip_subject(device)
           : kind == "cuda" ? allocator::open_cuda_subject(device)
                            : allocator::open_host_subject();
  };
  const auto report = allocator::run_watched_self_test(open, limits, 60'000);
  if (!report) {
    std::printf("skipped: %s\n", report.error().message.c_str());
    return report.error().code == Errc::unsupported ? 77 : 1;
  }
  std::fputs(allocator::to_text(*report).c_str(), stdout);
  return report->passed ? 0 : 1;
}
