// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "allocator/self_test/self_test.h"
#include "allocator/self_test/self_test_bench.h"
#include "allocator/self_test/self_test_steps.h"
#include "allocator/self_test/timed_backend.h"

namespace headroom::allocator {

SelfTestReport run_self_test(Backend& backend, DeviceAccess& device, const SelfTestLimits& limits,
                             const std::function<void(std::string_view)>& on_step) {
  TimedBackend timed(backend, [&device] { return device.now_ns(); });
  SelfTestBench bench(timed, device, limits);
  SelfTestReport report;
  report.passed = true;
  for (const SelfTestStepKind& kind : self_test_steps()) {
    if (on_step) on_step(kind.name);
    SelfTestStep step{std::string(kind.name), std::string(kind.expected), "", false};
    const std::uint64_t begun_ns = device.now_ns();
    auto found = kind.run(bench, report.measured);
    step.took_ns = device.now_ns() - begun_ns;
    step.passed = found.has_value();
    step.found = found ? *found : found.error().message;
    report.steps.push_back(step);
    if (step.passed) continue;
    report.passed = false;
    break;  // A backend that is known to be broken is not used further.
  }
  report.measured.virtual_memory = report.passed;
  report.measured.costs = timed.costs();
  return report;
}

std::string to_text(const SelfTestReport& report) {
  std::string text;
  for (const SelfTestStep& step : report.steps) {
    text += step.passed ? fmt::format("ok      {:<13} {}\n", step.name, step.found)
                        : fmt::format("FAILED  {:<13} expected {}; found {}\n", step.name,
                                      step.expected, step.found);
  }
  if (!report.passed) return text + "Virtual memory is not used; plain memory works without it.\n";
  const CallCosts& costs = report.measured.costs;
  text += fmt::format(
      "Virtual memory works here. A page costs, in µs: create {:.1f}, map {:.1f}, access {:.1f}, "
      "unmap {:.1f}, destroy {:.1f}.\n",
      costs.create / 1e3, costs.map / 1e3, costs.allow_access / 1e3, costs.unmap / 1e3,
      costs.destroy / 1e3);
  return text;
}

}  // namespace headroom::allocator
