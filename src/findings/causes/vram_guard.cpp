// SPDX-License-Identifier: Apache-2.0
// vram-guard: headroom's own guard refused the memory, or ended the command, because the desktop or
// the system would have run out of theirs.
#include <fmt/format.h>

#include "findings/causes/amounts.h"
#include "findings/causes/causes.h"

namespace headroom::findings {
namespace {

using logs::Observation;

std::string title_of(const Observation& seen) {
  const std::string kept(seen.value("kept"));
  if (seen.value("pool").empty())
    return fmt::format("headroom ended the job: of the system's memory less than {} was left",
                       kept);
  return fmt::format(
      "headroom's guard refused memory: it keeps {} of {} for the desktop and the system", kept,
      seen.value("pool"));
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  const Observation* seen = subject.log.first_of({"headroom-guard", "headroom-guard-ended"});
  if (seen == nullptr) return std::nullopt;
  Hypothesis guard;
  guard.confidence = confidence::proven;
  guard.title = title_of(*seen);
  guard.reasons = {
      "Without the guard the desktop or the whole machine would have stood still instead of the "
      "job."};
  guard.evidence.push_back(show(subject, *seen));
  guard.fix = {
      sentence(
          "let the job take less: a smaller micro-batch with accumulation, a shorter sequence, "
          "or checkpointing"),
      sentence("close what else takes memory: headroom check lists who holds the GPU's"),
      sentence("or keep less: headroom run --guard SIZE, and --guard off keeps nothing")};
  guard.alternatives = {{"job-too-big", 0.2, "the same job with --guard off"}};
  return guard;
}

}  // namespace

constinit const CauseRule vram_guard_cause = {
    .id = "vram-guard",
    .meaning = "headroom's own guard stopped the job before the desktop or the system ran out.",
    .why =
        "An APU's GPU takes the same memory as everything else, and a card with a screen shares "
        "its own with the desktop. Where they run out, the machine stands still.",
    .fix = "Let the job take less, or change what is kept: headroom run --guard SIZE.",
    .explains =
        "job-too-big fragmentation vram-held-by-other free-memory-misreported memory-fraction-cap "
        "app-bug framework-bug crash-loop",
    .any_vendor = true,
    .find = find,
};

}  // namespace headroom::findings
