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
    return fmt::format("headroom ended the job: less than {} of the system's memory was left",
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
  guard.reasons = {"Without the guard the desktop or the whole machine would have frozen instead."};
  guard.evidence.push_back(show(subject, *seen));
  guard.fix = {
      sentence("Make the job use less: a smaller micro-batch with accumulation, a shorter "
               "sequence, or checkpointing."),
      sentence(
          "Close other programs that use memory. headroom check lists who holds the GPU's memory."),
      sentence("Or keep less free: headroom run --guard SIZE. --guard off keeps nothing free.")};
  guard.alternatives = {{"job-too-big", 0.2, "the same job with --guard off"}};
  return guard;
}

}  // namespace

constinit const CauseRule vram_guard_cause = {
    .id = "vram-guard",
    .meaning = "headroom's own guard stopped the job before the desktop or the system ran out.",
    .why =
        "An APU's GPU uses the same memory as everything else. A card with a screen shares its "
        "memory with the desktop. If that memory runs out, the machine freezes.",
    .fix = "Make the job use less, or change how much is kept free: headroom run --guard SIZE.",
    .explains =
        "job-too-big fragmentation vram-held-by-other free-memory-misreported memory-fraction-cap "
        "app-bug framework-bug crash-loop",
    .any_vendor = true,
    .find = find,
};

}  // namespace headroom::findings
