// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/unbound_gpu.h"

namespace headroom::findings {

using logs::Observation;

namespace {

const Observation* unclaimed_gpu(const logs::Observations& log) {
  for (const Observation* one : log.of("lshw-unclaimed")) {
    if (one->output_has("Advanced Micro Devices") || one->output_has("ATI Technologies")) {
      return one;
    }
  }
  return nullptr;
}

}  // namespace

const Observation* unbound_gpu(const logs::Observations& log) {
  // What `lspci -k` says of a device comes within the lines after its name.
  constexpr std::uint64_t lines_of_a_device = 6;
  if (const Observation* inxi = log.first("inxi-unbound")) return inxi;
  if (const Observation* lshw = unclaimed_gpu(log)) return lshw;
  const Observation* gpu = nullptr;
  bool modules = false, driver = false;
  for (const Observation& one : log.all()) {
    const bool of_gpu =
        gpu != nullptr && one.log == gpu->log && one.line - gpu->line <= lines_of_a_device;
    if (one.id() == "lspci-gpu") {
      if (gpu != nullptr && modules && !driver) return gpu;
      gpu = &one;
      modules = driver = false;
    } else if (of_gpu && one.id() == "lspci-driver") {
      driver = true;
    } else if (of_gpu && one.id() == "lspci-modules") {
      modules = one.value("modules").find("amdgpu") != std::string_view::npos;
    }
  }
  return gpu != nullptr && modules && !driver ? gpu : nullptr;
}

}  // namespace headroom::findings
