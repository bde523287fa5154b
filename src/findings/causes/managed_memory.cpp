// SPDX-License-Identifier: Apache-2.0
// managed-memory: trouble from memory that CPU and GPU share by page faults or by mapping: SVM,
// XNACK, hipMallocManaged, llama.cpp's unified memory. The driver's own messages prove it; a
// setting that ended the trouble is nearly as good.
#include <fmt/format.h>

#include "base/text.h"
#include "findings/causes/causes.h"

namespace headroom::findings {
namespace {

using knowledge::Role;
using logs::Observation;

struct Claim {
  double sure = 0;
  std::string title, reason;
  const Observation* seen = nullptr;
};

void keep_surest(Claim& claim, Claim other) {
  if (other.seen != nullptr && other.sure > claim.sure) claim = std::move(other);
}

bool is_failure(const Observation& one) {
  return one.signature->role == Role::failure || one.signature->role == Role::consequence;
}

bool failed_between(const logs::Observations& log, const Observation* from, const Observation* to) {
  for (const Observation& one : log.all()) {
    if (!is_failure(one)) continue;
    const auto at = std::pair(one.log, one.line);
    if (from != nullptr && at <= std::pair(from->log, from->line)) continue;
    if (to != nullptr && at >= std::pair(to->log, to->line)) continue;
    return true;
  }
  return false;
}

const Observation* setting(const logs::Observations& log, std::string_view name,
                           std::string_view value) {
  for (const Observation* one : log.of("setting")) {
    if (one->value("setting") == name && (value.empty() || one->value("value") == value)) {
      return one;
    }
  }
  return nullptr;
}

// It failed, then shared memory was switched off, and nothing failed any more.
Claim of_switch(const logs::Observations& log) {
  const Observation* off = setting(log, "HSA_USE_SVM", "0");
  if (off == nullptr) off = setting(log, "HSA_XNACK", "0");
  if (off == nullptr) return {};
  const bool before = failed_between(log, nullptr, off), after = failed_between(log, off, nullptr);
  if (after) return {0.25, "It still fails with shared virtual memory switched off", "", off};
  if (!before) return {};
  return {
      0.79, "It fails with shared virtual memory and runs without",
      fmt::format("The failure is gone after {}={}.", off->value("setting"), off->value("value")),
      off};
}

// RDNA cannot retry page faults, whatever is set.
Claim of_xnack(const LogSubject& subject) {
  const Observation* on = setting(subject.log, "HSA_XNACK", "1");
  if (on == nullptr || !failed_between(subject.log, nullptr, nullptr)) return {};
  const std::string gfx = subject.scene.gfx();
  const bool rdna =
      gfx.starts_with("gfx10") || gfx.starts_with("gfx11") || gfx.starts_with("gfx12");
  return {rdna ? 0.7 : 0.4, fmt::format("HSA_XNACK=1 on {}", gfx.empty() ? "this GPU" : gfx),
          rdna ? "RDNA does not support XNACK. A page that is not there when a GPU kernel needs it "
                 "causes a fault."
               : "With XNACK the GPU waits for missing pages. It needs a Linux kernel with HMM and "
                 "code built for xnack+.",
          on};
}

Claim of_unified(const LogSubject& subject) {
  const Observation* on = setting(subject.log, "GGML_CUDA_ENABLE_UNIFIED_MEMORY", "");
  if (on == nullptr || !failed_between(subject.log, nullptr, nullptr)) return {};
  return {0.65, "llama.cpp uses managed memory, and that fails here",
          "GGML_CUDA_ENABLE_UNIFIED_MEMORY uses host RAM, which counts towards the control group's "
          "limit and the driver's limit on RAM. Any value switches it on, even 0.",
          on};
}

// A build for integrated GPUs, used on a card that has memory of its own; llama.cpp's notes on
// building say of HIP_UMA that it makes such cards slow.
Claim of_build(const LogSubject& subject) {
  const Observation* built = subject.log.first("built-with-uma");
  if (built == nullptr || subject.scene.discrete_gpu() == nullptr) return {};
  if (subject.scene.integrated_gpu() != nullptr) return {};
  return {
      0.78, "llama.cpp is built to take managed memory, on a GPU with memory of its own",
      "With HIP_UMA the model stays in the host's RAM, and the GPU reads it over the bus. It is "
      "meant for integrated GPUs. Build without it.",
      built};
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  const logs::Observations& log = subject.log;
  Claim claim;
  keep_surest(claim, {0.79, "The driver refuses to map shared virtual memory: its limit is reached",
                      "KFD allows all processes together to share as much memory as the RAM minus "
                      "a reserve. GPU memory is not involved.",
                      log.first("svm-limit")});
  keep_surest(claim,
              {0.8, "Managed memory is refused on this GPU", "", log.first("managed-refused")});
  keep_surest(claim, {confidence::likely, "The program needs XNACK, which is not available",
                      "Memory that the GPU should fault in needs XNACK. RDNA does not have it, and "
                      "Instinct cards need HSA_XNACK=1.",
                      log.first("xnack-required")});
  keep_surest(claim,
              {0.6, "Managed memory cannot migrate to this GPU: every access goes over the bus",
               "Without XNACK and HMM the pages of hipMallocManaged stay in the host's RAM. The "
               "program works, but is slow.",
               log.first("no-page-migration")});
  keep_surest(claim, of_switch(log));
  keep_surest(claim, of_xnack(subject));
  keep_surest(claim, of_unified(subject));
  keep_surest(claim, of_build(subject));
  if (failed_between(log, nullptr, nullptr)) {
    // Where the GPU was reset before, its queues' memory is taken away as well.
    const Observation* reset = log.first("gpu-reset");
    const Observation* range = log.first("svm-range");
    const bool follows = reset != nullptr && range != nullptr && reset->log == range->log &&
                         reset->line < range->line;
    keep_surest(claim, {follows ? 0.3 : 0.6, "The driver has trouble with shared virtual memory",
                        "Its functions for SVM report errors around the failure.", range});
    keep_surest(claim, {0.5, "The program needs XNACK, which is not available", "",
                        log.first("xnack-fault")});
    keep_surest(claim, {0.4, "The program uses managed memory", "", log.first("managed-call")});
  }
  if (claim.seen == nullptr) return std::nullopt;
  Hypothesis managed;
  managed.confidence = claim.sure;
  managed.title = claim.title;
  if (!claim.reason.empty()) managed.reasons.push_back(claim.reason);
  managed.evidence.push_back(show(subject, *claim.seen));
  for (const Observation& one : log.all()) {
    if (!is_failure(one) || &one == claim.seen || managed.evidence.size() >= 3) continue;
    managed.evidence.push_back(show(subject, one));
  }
  managed.fix = {
      sentence("Try without it: HSA_USE_SVM=0 CMD; or: env -u HSA_XNACK -u "
               "GGML_CUDA_ENABLE_UNIFIED_MEMORY CMD"),
      sentence("For llama.cpp use --no-mmap, so that the model is not mapped as shared memory."),
      sentence("On an APU, enlarge the pool instead. headroom check says how."),
      sentence("If the program needs managed memory, it needs a Linux kernel with HMM, HSA_XNACK=1 "
               "and code built for xnack+ (MI200, MI300). See: rocminfo | grep xnack")};
  managed.alternatives = {{"gpu-hang", 0.15, "sudo dmesg | grep -iE 'ring|reset|MES'"},
                          {"job-too-big", 0.1, "free -h while it loads"}};
  return managed;
}

}  // namespace

constinit const CauseRule managed_memory_cause = {
    .id = "managed-memory",
    .meaning = "Managed memory, shared virtual memory or XNACK fails.",
    .why =
        "Memory that CPU and GPU share depends on the kernel's HMM, on page faults that RDNA "
        "cannot retry, and on KFD's limit on RAM. Without one of them, jobs hang, fault or are "
        "refused.",
    .fix =
        "Switch it off (HSA_USE_SVM=0, no HSA_XNACK, no unified memory), or provide what it needs.",
    .explains = "gpu-hang crash-loop job-too-big cgroup-memory-limit app-bug framework-bug",
    .find = find,
};

}  // namespace headroom::findings
