// SPDX-License-Identifier: Apache-2.0
#include "trainer/calibration/calibrate.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>

#include "allocator/backends/host_verdict.h"
#include "base/version.h"
#include "machine/clock.h"
#include "machine/processor.h"
#include "trainer/calibration/measure_rates.h"
#include "trainer/calibration/measure_steps.h"
#include "trainer/device_memory.h"
#include "trainer/ops/product.h"

namespace headroom::trainer::calibration {
namespace {

using estimate::DType;

constexpr Bytes capacity{std::uint64_t{768} << 20U};
// Above it too little of what is measured is this trainer's.
constexpr double most_waited_share = 0.5;

// How much of their time threads that compute wait for a processor, over about a second.
double find_waited_share() {
  constexpr std::int64_t edge = 512;
  constexpr double looked_s = 1;
  const at::Tensor left = at::rand({edge, edge});
  const at::Tensor right = at::rand({edge, edge});
  ops::product(left, right);  // Threads are made here.
  machine::QuietClock clock;
  const std::uint64_t start = machine::monotonic_ns();
  while (static_cast<double>(machine::monotonic_ns() - start) * 1e-9 < looked_s)
    ops::product(left, right);
  return clock.take().waited_share();
}

Error too_busy(double share) {
  constexpr double per_cent = 100;
  return {Errc::busy,
          fmt::format("expected a machine with little else to do, found that threads wait {:.0f} % "
                      "of their time for a processor: what would be measured is the other programs",
                      per_cent * share),
          "end other programs or wait for them (top shows which), then headroom test --calibrate"};
}

Status measure(const CalibrationRequest& request, DeviceMemory& memory,
               estimate::Calibration& calibration) {
  const double share = find_waited_share();
  if (share > most_waited_share) return too_busy(share);
  if (request.wants_stop()) return stopped();
  request.on_stage("measuring operations one by one");
  machine::QuietClock clock;
  HEADROOM_TRY(calibration.rates, measure_rates({DType::fp32, DType::bf16},
                                                {.seconds = request.rates_s}, request.wants_stop));
  request.on_stage("measuring whole steps");
  HEADROOM_TRY(calibration.steps,
               measure_steps(calibration.rates, request.steps_s, memory, request.wants_stop));
  calibration.waited_share = std::clamp(clock.take().waited_share(), 0.0, 1.0);
  if (calibration.steps.empty()) return too_busy(calibration.waited_share);
  return Done{};
}

}  // namespace

Result<estimate::Calibration> calibrate(const CalibrationRequest& request) {
  HEADROOM_TRY(const auto memory,
               DeviceMemory::create(
                   {.capacity = capacity, .virtual_memory = !allocator::find_host_refusal()}));
  estimate::Calibration calibration{
      .key = {.device = machine::processor_name(),
              .engine = program_version(),
              .threads = static_cast<std::uint64_t>(at::get_num_threads())},
      .time = machine::utc_now()};
  HEADROOM_CHECK(memory->run([&] { return measure(request, *memory, calibration); }));
  return calibration;
}

}  // namespace headroom::trainer::calibration
