// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/program_flow.h"

namespace headroom::findings {
namespace {

using knowledge::Role;
using logs::Observation;

// Whether it is a failure with a reason of its own: neither a Python exception, which may repeat an
// earlier one, nor a line that only says again that something failed.
bool is_failure_of_its_own(const Observation& one) {
  if (one.signature->role != Role::failure) return false;
  for (const std::string_view vague : {"unknown-error-line", "system-error", "aborted", "segfault",
                                       "signal-exit", "traceback-frame", "module-missing"}) {
    if (one.id() == vague) return false;
  }
  return !one.id().starts_with("python-");
}

// Whether both are one kernel's own check: it prints where it failed, and each later call says so
// again.
bool is_same_check(const Observation& one, const Observation& other) {
  return one.id().starts_with("device-assert") && other.id().starts_with("device-assert");
}

}  // namespace

bool follows_another_failure(const logs::Observations& log, const Observation& seen) {
  for (const Observation& one : log.all()) {
    const bool before = one.log == seen.log && one.line < seen.line;
    if (before && one.id() != seen.id() && !is_same_check(one, seen) &&
        is_failure_of_its_own(one)) {
      return true;
    }
  }
  return false;
}

bool goes_on_after(const logs::Observations& log, const Observation& seen) {
  constexpr std::uint64_t end_of_a_traceback = 3;
  for (const Observation& one : log.all()) {
    if (one.log != seen.log || one.line < seen.line + end_of_a_traceback) continue;
    // ComfyUI also says this about a job that failed.
    if (one.id() == "prompt-executed") continue;
    if (one.signature->role == Role::progress) return true;
    if (is_same_check(one, seen)) continue;
    if (one.id() != seen.id() && is_failure_of_its_own(one)) return true;
  }
  return false;
}

}  // namespace headroom::findings
