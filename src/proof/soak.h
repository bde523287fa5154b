// SPDX-License-Identifier: Apache-2.0
// What a load of minutes shows that single steps do not: a device that slows down, gets too hot,
// counts errors or is reset while it works. The load itself runs in the user's Python; here it is
// judged from its own times and from what the driver measured meanwhile. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "facts/gpu_errors.h"
#include "facts/gpu_strain.h"
#include "proof/step.h"

namespace headroom::proof {

// How long a product of the load took, by the load's own clock.
struct SoakPoint {
  double at_s = 0;  // Since the load began.
  double seconds = 0;
};

// What was measured at one moment; what the driver did not tell is missing.
struct SoakSample {
  double at_s = 0;
  std::optional<std::uint64_t> edge, junction, memory;  // Millicelsius.
  std::optional<std::uint64_t> power_microwatts;
  std::optional<std::uint64_t> core_hertz;
  std::optional<facts::Throttling> throttling;
};

SoakSample make_sample(double at_s, const facts::GpuStrain& strain);

struct SoakRecord {
  double whole_s = 0;  // As long as the load was to last.
  bool on_gpu = false;
  std::vector<SoakPoint> points;
  std::vector<SoakSample> samples;
  // The first that was read, for limits and for why a figure is missing; nothing: none was, for
  // `why_unwatched`.
  std::optional<facts::GpuStrain> first;
  std::optional<facts::GpuErrors> before, after;
  std::string why_unwatched;
  std::size_t kernel_resets = 0;  // Lines of the kernel about resets of a GPU, meanwhile.
  bool kernel_read = false;
};

// The first and the last piece of the load that are compared: a minute, or a quarter of a shorter
// load.
double soak_window_s(double whole_s);

// The steps soak-speed, soak-heat, soak-ras, soak-link and soak-reset, in this order. What was not
// measured is skipped with the reason.
std::vector<StepResult> judge_soak(const SoakRecord& record);

}  // namespace headroom::proof
