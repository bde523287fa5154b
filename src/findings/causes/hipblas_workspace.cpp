// SPDX-License-Identifier: Apache-2.0
// hipblas-workspace: a BLAS call reports that it could not allocate although VRAM is free. PyTorch
// gives hipBLAS a workspace of a fixed size, and batched solvers need more with every matrix.
#include <fmt/format.h>

#include <algorithm>

#include "findings/causes/amounts.h"
#include "findings/causes/causes.h"
#include "findings/causes/device_memory.h"
#include "findings/causes/shortfall.h"

namespace headroom::findings {
namespace {

using logs::Observation;

// Finds how much was free near the failure: on its own line, before it, or by the driver's count.
std::optional<Bytes> free_near(const LogSubject& subject, const Observation& failure) {
  std::optional<Bytes> free;
  for (const Observation* one : subject.log.of("free-told")) {
    if (one->log == failure.log && one->line <= failure.line) free = amount_of(*one, "free");
  }
  if (free) return free;
  const DeviceMemory memory = device_memory(subject);
  if (memory.job_free) return memory.job_free->amount;
  if (memory.vram_total && memory.vram_used) {
    return saturating_sub(memory.vram_total->amount, memory.vram_used->amount);
  }
  return std::nullopt;
}

// Whether a call takes scratch memory that grows with the batch, as solvers and batched calls do.
bool takes_scratch(std::string_view call) {
  for (const char* part : {"Batched", "trsm", "Trsm", "getr", "geqr", "gels", "potr"}) {
    if (call.find(part) != std::string_view::npos) return true;
  }
  return false;
}

double sure_of(const LogSubject& subject, const Observation& failure,
               const std::optional<Bytes>& free) {
  const auto failed = failed_allocation(subject);
  const bool full = failed && failed->free && *failed->free < 512_MiB;
  if (full || (free && *free < 512_MiB)) return 0.2;
  const std::string_view call = failure.value("call");
  // Creating the handle hardly needs a workspace, so something else is wrong, or memory is full.
  if (call.find("Create") != std::string_view::npos) return 0.25;
  if (free && *free >= 2_GiB) return takes_scratch(call) ? 0.93 : 0.8;
  return takes_scratch(call) ? 0.75 : 0.5;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  const Observation* failure = subject.log.first("blas-alloc");
  if (failure == nullptr) return std::nullopt;
  const auto free = free_near(subject, *failure);
  const std::string call(failure->value("call"));
  Hypothesis workspace;
  workspace.confidence = sure_of(subject, *failure, free);
  workspace.title =
      fmt::format("{} did not get its workspace{}", call.empty() ? "The BLAS library" : call,
                  free ? fmt::format(", with {} of VRAM free", to_string(*free)) : "");
  workspace.reasons.emplace_back(
      "PyTorch gives hipBLAS a workspace of a fixed size. If a call needs more, hipBLAS reports a "
      "failed allocation without asking the card for memory.");
  if (free) {
    workspace.reasons.push_back(
        fmt::format("{} was free, so the workspace is too small, not the card.", to_string(*free)));
  }
  workspace.evidence.push_back(show(subject, *failure));
  workspace.fix = {sentence("Use a larger workspace (size in KiB, and how many): export "
                            "HIPBLAS_WORKSPACE_CONFIG=:262144:1"),
                   sentence("Or use a smaller batch: split the call, and join the results.")};
  const double rest = 1 - workspace.confidence;
  workspace.alternatives = {
      {"job-too-big", std::min(0.45, rest * 0.6), "rocm-smi --showmeminfo vram while it runs"},
      {"vram-held-by-other", std::min(0.3, rest * 0.4), "rocm-smi --showpids"}};
  return workspace;
}

}  // namespace

constinit const CauseRule hipblas_workspace_cause = {
    .id = "hipblas-workspace",
    .meaning = "HIPBLAS_STATUS_ALLOC_FAILED because of a fixed workspace, although VRAM is free.",
    .why =
        "The error reads as if the card were full. In fact the buffer that PyTorch reserves for "
        "hipBLAS is too small: batched solvers need more of it with every matrix.",
    .fix = "Enlarge the workspace, or make the batches smaller.",
    .explains = "job-too-big free-memory-misreported app-bug framework-bug",
    .find = find,
};

}  // namespace headroom::findings
