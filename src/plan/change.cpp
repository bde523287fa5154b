// SPDX-License-Identifier: Apache-2.0
#include "plan/change.h"

#include <algorithm>

namespace headroom::plan {

std::string_view to_string(StepKind kind) {
  switch (kind) {
    case StepKind::write_file:
      return "write-file";
    case StepKind::kernel_argument:
      return "kernel-argument";
    case StepKind::module_option:
      return "module-option";
    case StepKind::initramfs:
      return "initramfs";
    case StepKind::sysctl:
      return "sysctl";
    case StepKind::group:
      return "group";
    case StepKind::environment:
      return "environment";
    case StepKind::service:
      return "service";
    case StepKind::link:
      return "link";
    case StepKind::by_hand:
      return "by-hand";
  }
  return "";
}

std::string_view to_string(BootFallback fallback) {
  switch (fallback) {
    case BootFallback::not_needed:
      return "not-needed";
    case BootFallback::next_boot:
      return "next-boot";
    case BootFallback::counted_boots:
      return "counted-boots";
    case BootFallback::by_hand:
      return "by-hand";
  }
  return "";
}

bool is_instruction(const Step& step) {
  return std::holds_alternative<Instruction>(step.action);
}

bool has_instruction(const Change& change) {
  return std::any_of(change.steps.begin(), change.steps.end(), is_instruction);
}

bool is_by_hand(const Change& change) {
  return std::all_of(change.steps.begin(), change.steps.end(), is_instruction);
}

}  // namespace headroom::plan
