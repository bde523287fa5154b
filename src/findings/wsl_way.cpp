// SPDX-License-Identifier: Apache-2.0
#include "findings/wsl_way.h"

#include <algorithm>

#include "facts/boot_tools.h"

namespace headroom::findings {
namespace {

constexpr const char* finds_dxg_itself = "7.13";  // The first ROCm that looks for /dev/dxg unasked.

bool is_for_rocm(const facts::Torch& torch) {
  return torch.kind && *torch.kind == facts::TorchKind::rocm;
}

}  // namespace

bool uses_amd(const facts::Facts& facts) {
  return facts.wsl.windows_driver || facts.machine.rocm || is_for_rocm(facts.python.torch);
}

const facts::HsaRuntime& runtime_of_jobs(const facts::Facts& facts) {
  const bool brings = is_for_rocm(facts.python.torch) && !facts.wsl.bundled.path.empty();
  return brings ? facts.wsl.bundled : facts.wsl.system;
}

const facts::Text& rocm_of_jobs(const facts::Facts& facts) {
  const bool bundled = &runtime_of_jobs(facts) == &facts.wsl.bundled;
  return bundled ? facts.python.torch.rocm : facts.machine.rocm;
}

bool by_rocdxg(const facts::Facts& facts) {
  const facts::HsaRuntime& runtime = runtime_of_jobs(facts);
  return runtime.route && *runtime.route == facts::DxgRoute::rocdxg;
}

bool needs_dxg_detection(const facts::Facts& facts) {
  const facts::Text& rocm = rocm_of_jobs(facts);
  return by_rocdxg(facts) && rocm && facts::is_older(*rocm, finds_dxg_itself);
}

bool dxg_detection_is_on(const facts::Facts& facts) {
  const auto settings = facts.environment.settings_of("HSA_ENABLE_DXG_DETECTION");
  return std::any_of(settings.begin(), settings.end(),
                     [](const facts::Setting* setting) { return setting->value == "1"; });
}

bool way_is_whole(const facts::Facts& facts) {
  const facts::Wsl& wsl = facts.wsl;
  if (wsl.kind != facts::WslKind::wsl2 || !wsl.dxg || !*wsl.dxg || !wsl.dxcore) return false;
  const facts::HsaRuntime& runtime = runtime_of_jobs(facts);
  if (!runtime.route || *runtime.route == facts::DxgRoute::none) return false;
  if (by_rocdxg(facts) && !wsl.rocdxg) return false;
  if (!by_rocdxg(facts) || dxg_detection_is_on(facts)) return true;
  return rocm_of_jobs(facts) && !needs_dxg_detection(facts);
}

}  // namespace headroom::findings
