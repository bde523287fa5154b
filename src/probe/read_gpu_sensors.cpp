// SPDX-License-Identifier: Apache-2.0
#include "probe/read_gpu_sensors.h"

#include <string>

#include "probe/read_text.h"

namespace headroom::probe {
namespace {

using facts::Fact;
using facts::GpuSensors;
using Number = Fact<std::uint64_t>;

void read_hwmon(const machine::Files& files, const std::string& folder, GpuSensors& sensors) {
  const auto read = [&](const char* name) {
    return facts::parse_number(read_text(files, folder + "/" + name));
  };
  sensors.edge_millicelsius = read("temp1_input");
  sensors.junction_millicelsius = read("temp2_input");
  sensors.memory_millicelsius = read("temp3_input");
  sensors.power_microwatts = read("power1_average");
  if (!sensors.power_microwatts) sensors.power_microwatts = read("power1_input");
  sensors.core_hertz = read("freq1_input");
  sensors.memory_hertz = read("freq2_input");
  sensors.fan_rpm = read("fan1_input");
}

GpuSensors all_missing(const Number& why) {
  return {why, why, why, why, why, why, why, why, why};
}

}  // namespace

std::string find_hwmon(const machine::Files& files, const std::string& device) {
  const std::string folder = device + "/hwmon";
  const auto entries = files.list(folder);
  for (const std::string& entry : entries ? *entries : std::vector<std::string>{}) {
    std::string found = folder + "/" + entry;
    const facts::Text name = facts::parse_word(read_text(files, found + "/name"));
    if (name && *name == "amdgpu") return found;
  }
  return "";
}

GpuSensors read_gpu_sensors(const machine::Files& files, const facts::PciGpu& gpu) {
  if (gpu.asleep()) {
    return all_missing({facts::Missing{facts::Why::asleep, ""}, gpu.runtime_status.source()});
  }
  const std::string hwmon = find_hwmon(files, gpu.folder);
  GpuSensors sensors = all_missing(
      {facts::Missing{facts::Why::not_present, ""}, facts::Source{gpu.folder + "/hwmon", 0, ""}});
  if (!hwmon.empty()) read_hwmon(files, hwmon, sensors);
  const auto percent = [&](const char* name) {
    return facts::parse_number(read_text(files, gpu.folder + "/" + name));
  };
  sensors.busy_percent = percent("gpu_busy_percent");
  sensors.memory_busy_percent = percent("mem_busy_percent");
  return sensors;
}

}  // namespace headroom::probe
