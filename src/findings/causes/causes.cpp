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
  &bitsandbytes_no_rocm_cause,
  &disk_full_cause,
  &gfx_override_wrong_cause,
  &gfx_target_dropped_cause,
  &gfx_target_missing_cause,
  &miopen_db_cause,
  &missing_library_cause,
  &python_version_unsupported_cause,
  &rocm_version_mismatch_cause,
  &torchao_incompatible_cause,
  &unsupported_option_cause,
  &wrong_wheel_cause,
};
// clang-format on

}  // namespace

std::span<const CauseRule* const> cause_rules() {
  return table;
}

}  // namespace headroom::findings
