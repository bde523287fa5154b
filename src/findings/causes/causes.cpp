// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/causes.h"

#include <array>

namespace headroom::findings {
namespace {

// clang-format off
constexpr std::array table = {
  &app_bug_cause,
  &backend_unavailable_cause,
  &collective_hang_cause,
  &cpu_lacks_avx_cause,
  &crash_loop_cause,
  &disk_full_cause,
  &firmware_bad_cause,
  &framework_bug_cause,
  &gpu_hang_cause,
  &hw_error_cause,
  &rccl_p2p_cause,
  &rocm_regression_cause,
};
// clang-format on

}  // namespace

std::span<const CauseRule* const> cause_rules() {
  return table;
}

}  // namespace headroom::findings
