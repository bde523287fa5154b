// SPDX-License-Identifier: Apache-2.0
#include "proof/soak.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "proof/soak_parts.h"

namespace headroom::proof {
namespace {

using facts::Fact;
using findings::look;
using findings::sentence;

constexpr double milli = 1000;

StepResult unwatched(const char* name, const SoakRecord& record) {
  return skipped_step(
      name, record.why_unwatched.empty() ? "the driver was not asked" : record.why_unwatched);
}

// A sensor over the whole load.
struct Heat {
  const char* name;
  std::optional<std::uint64_t> SoakSample::*value;
  Fact<std::uint64_t> facts::GpuStrain::*limit;
  Fact<std::uint64_t> facts::GpuSensors::*sensor;
};
constexpr std::array heats = {
    Heat{"junction", &SoakSample::junction, &facts::GpuStrain::junction_limit,
         &facts::GpuSensors::junction_millicelsius},
    Heat{"edge", &SoakSample::edge, &facts::GpuStrain::edge_limit,
         &facts::GpuSensors::edge_millicelsius},
    Heat{"memory", &SoakSample::memory, &facts::GpuStrain::memory_limit,
         &facts::GpuSensors::memory_millicelsius},
};

StepResult judge_heat(const SoakRecord& record) {
  constexpr const char* name = "soak-heat";
  if (!record.first) return unwatched(name, record);
  StepResult result = passed_step(name);
  std::vector<std::string> said, over;
  for (const Heat& heat : heats) {
    const auto highest = highest_of(record.samples, heat.value);
    if (!highest) continue;
    const auto& limit = (*record.first).*heat.limit;
    const double degrees = static_cast<double>(*highest) / milli;
    if (!result.figure) result.figure = degrees;
    std::string one = fmt::format("{} up to {:.0f} °C", heat.name, degrees);
    if (limit) one += fmt::format(" of {:.0f}", static_cast<double>(*limit) / milli);
    if (limit && *highest >= *limit) over.push_back(one);
    said.push_back(std::move(one));
  }
  if (said.empty()) {
    const auto& sensor = record.first->sensors.edge_millicelsius;
    return skipped_step(name, missing_text("the temperature", sensor));
  }
  result.unit = "°C";
  result.detail = join(said, ", ");
  const bool is_throttled =
      any_sample(record.samples, [](const facts::Throttling& now) { return now.temperature; });
  if (is_throttled) result.detail += "; its clocks were held back for heat";
  if (over.empty() && !is_throttled) return result;
  fail_step(result, "hw-error", over.empty() ? 0.6 : 0.75, "the GPU is too hot");
  result.cause->fix = {
      sentence("Clean the cooler and the case's air path, and raise the fan curve. A junction far "
               "above the edge means that the cooler does not lie flat, or its paste is old."),
      sentence("A lower power limit costs little speed: sudo rocm-smi --setpoweroverdrive WATTS"),
      look("watch -n1 rocm-smi --showtemp --showfan", "(while a job runs)")};
  return result;
}

StepResult judge_ras(const SoakRecord& record) {
  constexpr const char* name = "soak-ras";
  if (!record.before || !record.after) return unwatched(name, record);
  if (record.before->ras.empty())
    return skipped_step(name,
                        "the driver shows no RAS counters: " + to_string(record.before->no_ras));
  const auto uncorrectable =
      count_more(*record.before, *record.after, &facts::RasCount::uncorrectable);
  const auto correctable = count_more(*record.before, *record.after, &facts::RasCount::correctable);
  if (!uncorrectable.known && !correctable.known)
    return skipped_step(name, missing_text("RAS", record.before->ras.front().uncorrectable));
  StepResult result = passed_step(name);
  result.figure = static_cast<double>(uncorrectable.more + correctable.more);
  result.unit = "errors";
  result.detail =
      fmt::format("{} uncorrectable and {} corrected errors", uncorrectable.more, correctable.more);
  if (*result.figure == 0) return result;
  result.detail +=
      " more in " + join(uncorrectable.more > 0 ? uncorrectable.blocks : correctable.blocks, ", ");
  const bool is_lost = uncorrectable.more > 0;
  fail_step(result, "hw-error", is_lost ? 0.95 : 0.6,
            is_lost ? "the GPU's hardware counted errors that it could not correct"
                    : "the GPU's hardware corrected errors, of which a sound one has none");
  result.cause->fix = {
      look("sudo dmesg | grep -iE 'ras|ecc|uncorrect|poison'", "(which block, and when)"),
      sentence("Take overclocking back, check power cables and cooling, and test again. If it "
               "stays, the card is defective: results computed on it cannot be trusted.")};
  if (!is_lost) {
    result.cause->fix.back() =
        sentence("Nothing was lost. Watch the counter; a card on which it grows is going to fail.");
  }
  return result;
}

StepResult judge_link(const SoakRecord& record) {
  constexpr const char* name = "soak-link";
  if (!record.before || !record.after) return unwatched(name, record);
  const facts::GpuErrors &before = *record.before, &after = *record.after;
  const auto corrected = more_of(before.link_corrected, after.link_corrected);
  const auto nonfatal = more_of(before.link_nonfatal, after.link_nonfatal);
  const auto fatal = more_of(before.link_fatal, after.link_fatal);
  if (!corrected && !nonfatal && !fatal)
    return skipped_step(name, missing_text("PCIe's error counters", before.link_corrected));
  const std::uint64_t lost = nonfatal.value_or(0) + fatal.value_or(0);
  StepResult result = passed_step(name);
  result.figure = static_cast<double>(lost + corrected.value_or(0));
  result.unit = "errors";
  result.detail =
      fmt::format("{} lost and {} resent on the PCIe link", lost, corrected.value_or(0));
  if (lost == 0) return result;
  fail_step(result, "hw-error", 0.65, "the PCIe link lost data that could not be resent");
  result.cause->fix = {
      sentence("Switch off, take the card out and put it back in. Try another slot without a "
               "riser, and a slower link (PCIe generation) in the firmware setup."),
      look("headroom check", "(the link's speed and width)")};
  return result;
}

StepResult judge_reset(const SoakRecord& record) {
  constexpr const char* name = "soak-reset";
  std::optional<std::uint64_t> counted;
  if (record.before && record.after) counted = more_of(record.before->resets, record.after->resets);
  if (!counted && !record.kernel_read) {
    if (!record.before) return unwatched(name, record);
    return skipped_step(name, missing_text("the counter of resets", record.before->resets) +
                                  ", and the kernel's messages cannot be read here");
  }
  StepResult result = passed_step(name);
  result.figure = static_cast<double>(counted.value_or(record.kernel_resets));
  result.unit = "resets";
  std::vector<std::string> by;
  if (counted) by.emplace_back("the driver's counter");
  if (record.kernel_read) by.emplace_back("the kernel's messages");
  const bool is_reset = counted.value_or(0) > 0 || record.kernel_resets > 0;
  result.detail = (is_reset ? "it was reset under load, by " : "none, by ") + join(by, " and ");
  if (!is_reset) return result;
  fail_step(result, "gpu-hang", 0.8, "the GPU was reset while the load ran");
  result.cause->fix = {look("sudo dmesg | grep -iE 'amdgpu.*(timeout|reset|fault|ras)'",
                            "(which ring or fault came first)"),
                       look("headroom check", "(kernel and firmware that are known to be bad)")};
  return result;
}

}  // namespace

double soak_window_s(double whole_s) {
  constexpr double minute = 60, pieces = 4;
  return std::min(minute, whole_s / pieces);
}

std::vector<StepResult> judge_soak(const SoakRecord& record) {
  return {judge_soak_speed(record), judge_heat(record), judge_ras(record), judge_link(record),
          judge_reset(record)};
}

}  // namespace headroom::proof
