// SPDX-License-Identifier: Apache-2.0
#include "probe/read_gpu_strain.h"

#include <fmt/format.h>

#include "machine/live_answers.h"
#include "probe/read_gpu_sensors.h"
#include "probe/read_text.h"

namespace headroom::probe {
namespace {

constexpr std::string_view ras_ending = "_err_count";

void read_ras(const machine::Files& files, const std::string& folder, facts::GpuErrors& errors) {
  const auto names = files.list(folder);
  if (!names) {
    errors.no_ras = to_missing(names.error());
    return;
  }
  for (const std::string& name : *names) {
    if (!name.ends_with(ras_ending)) continue;
    errors.ras.push_back(facts::parse_ras_count(name.substr(0, name.size() - ras_ending.size()),
                                                read_text(files, folder + "/" + name)));
  }
  if (errors.ras.empty()) errors.no_ras = {facts::Why::not_present, "no block of it counts errors"};
}

facts::Fact<std::uint64_t> read_resets(const machine::Files& files, const facts::PciGpu& gpu) {
  if (!gpu.render_minor) return gpu.render_minor.absent<std::uint64_t>();
  if (gpu.asleep()) return {facts::Missing{facts::Why::asleep, ""}, gpu.render_minor.source()};
  const std::string what = fmt::format("AMDGPU_INFO of /dev/dri/renderD{}", *gpu.render_minor);
  return facts::parse_driver_answers(
             read_answer(what, [&] { return machine::read_amdgpu_info(files, *gpu.render_minor); }))
      .vram_lost;
}

}  // namespace

facts::GpuStrain read_gpu_strain(const machine::Files& files, const facts::PciGpu& gpu) {
  facts::GpuStrain strain;
  strain.sensors = read_gpu_sensors(files, gpu);
  const auto& edge = strain.sensors.edge_millicelsius;
  strain.edge_limit = strain.junction_limit = strain.memory_limit = edge;
  if (gpu.asleep()) {
    strain.throttling = edge.absent<facts::Throttling>();
    return strain;
  }
  const std::string hwmon = find_hwmon(files, gpu.folder);
  const auto read = [&](const char* name) {
    return facts::parse_number(read_text(files, hwmon + "/" + name));
  };
  if (!hwmon.empty()) {
    strain.edge_limit = read("temp1_crit");
    strain.junction_limit = read("temp2_crit");
    strain.memory_limit = read("temp3_crit");
  }
  strain.throttling = facts::parse_throttling(read_text(files, gpu.folder + "/gpu_metrics"));
  return strain;
}

facts::GpuErrors read_gpu_errors(const machine::Files& files, const facts::PciGpu& gpu) {
  facts::GpuErrors errors;
  read_ras(files, gpu.folder + "/ras", errors);
  const auto total = [&](const char* name, const char* key) {
    return facts::parse_aer_total(read_text(files, gpu.folder + "/" + name), key);
  };
  errors.link_corrected = total("aer_dev_correctable", "TOTAL_ERR_COR");
  errors.link_nonfatal = total("aer_dev_nonfatal", "TOTAL_ERR_NONFATAL");
  errors.link_fatal = total("aer_dev_fatal", "TOTAL_ERR_FATAL");
  errors.resets = read_resets(files, gpu);
  return errors;
}

}  // namespace headroom::probe
