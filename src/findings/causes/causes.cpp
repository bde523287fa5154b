// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/causes.h"

#include <array>

namespace headroom::findings {
namespace {

// clang-format off
constexpr std::array table = {
  &app_bug_cause,
  &disk_full_cause,
};
// clang-format on

}  // namespace

std::span<const CauseRule* const> cause_rules() {
  return table;
}

}  // namespace headroom::findings
